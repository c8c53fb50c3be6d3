/**
 * The data that all handlers of requests share, and a request as they receive it: authenticated and authorized. Types
 * only.
 */

import type { IncomingMessage, ServerResponse } from "node:http"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ResourceInfo } from "../schema/resource-info.ts"
import type { ObjectStore } from "../store/object-store.ts"
import type { Identity } from "./identity.ts"
import type { Access } from "./rbac.ts"
import type { ServiceAccountTokens } from "./tokens.ts"

export interface PodLogOptions {
  readonly follow: boolean
  readonly previous: boolean
  readonly timestamps: boolean
  readonly tailLines?: number
  /** Begin with the first line from this time on, epoch ms. */
  readonly since?: number
}

/**
 * The source of container logs: lines with or without newline; a text is why the kubelet has none (400), and
 * `undefined` means that the container is waiting to start.
 */
export type PodLogs = (
  namespace: string,
  pod: string,
  container: string,
  options: PodLogOptions
) => AsyncIterable<string> | string | undefined

/** The creation of an object that has been decoded, and has no name yet if it has a `generateName`. */
export interface Creation {
  readonly info: ResourceInfo
  readonly object: KubeObject
  readonly identity: Identity
  /** `CreateOptions` without kind and version. */
  readonly options: { readonly dryRun?: ReadonlyArray<string>; readonly [field: string]: unknown }
}

/** Judges and changes objects before the store gets them. */
export interface Admission {
  /** The object to store in place of the sent one. `undefined`, at once, if the creation meets no webhook. */
  readonly admit: (creation: Creation) => Promise<KubeObject> | undefined
}

/** Shared by all handlers. */
export interface ServerContext {
  readonly store: ObjectStore
  readonly admission: Admission
  readonly now: () => number
  readonly tokens: ServiceAccountTokens
  readonly bookmarkIntervalMs: number
  readonly podLogs: () => PodLogs | undefined
}

/** A request to a resource, authenticated and authorized. */
export interface ResourceRequest {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly query: URLSearchParams
  readonly access: Access & { readonly _tag: "Resource" }
  readonly identity: Identity
}

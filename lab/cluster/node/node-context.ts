/** The node as the pods on it know it. It is made in `kubelet.ts`. */

import type { Duration } from "effect"
import type { Endpoint } from "../network/endpoint.ts"
import type { AgentTarget } from "./agent-target.ts"
import type { ImageRegistry, RunningContainer } from "./container-program.ts"
import type { IssueToken } from "./container-volumes.ts"
import type { NodeStore } from "./node-store.ts"
import type { AddressBook } from "./pod-network.ts"

/** Shared by all pods of a node. */
export interface NodeContext {
  readonly store: NodeStore
  readonly nodeName: string
  readonly directory: string
  readonly images: ImageRegistry
  readonly book: AddressBook
  readonly clusterDomain: string
  /** `KUBERNETES_SERVICE_*` */
  readonly serviceEnv: ReadonlyMap<string, string>
  readonly issueToken: IssueToken
  readonly restartBackOff: { readonly initial: Duration.Duration; readonly max: Duration.Duration }
  /** Bare container id → the running container. */
  readonly running: Map<string, { readonly container: RunningContainer; readonly target: AgentTarget }>
  readonly resolve: (namespace: string, name: string) => ReadonlyArray<string> | undefined
  readonly reach: (endpoint: Endpoint) => Endpoint
  readonly target: (containerId: string) => AgentTarget | undefined
  readonly now: () => number
  /** The grace in seconds; shorter while the node shuts down. */
  readonly limitGrace: (seconds: number) => number
}

/**
 * All requests that the HTTP surface makes of the operator behind it. Declared here so that routes know neither roles
 * nor capabilities.
 */

import type { Duplex } from "node:stream"
import { Context, type Effect, type Scope, type Stream } from "effect"
import type { ServedCluster } from "../../domain/fleet/cluster-object.ts"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import type { ProxiedRequest } from "../../domain/outbound/proxied-request.ts"
import type { ServedQueueSplit } from "../../domain/queues/queue-split-object.ts"
import type { IgnoredParameters } from "../../domain/sessions/connect-request.ts"
import type { Target } from "../../domain/targets/target.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { ApiError } from "./status.ts"

/** The user of a request: vouched for by the API server, and as the client's headers say. */
export interface Asker {
  readonly caller: Caller
  /** `x-client-der`, not yet checked. */
  readonly certificate: string | undefined
  readonly clientName: string | undefined
  readonly clientHostname: string | undefined
}

/** A request for a copy of a target (operator-api.md §9.2). */
export interface CopyTargetRequest extends Asker {
  readonly namespace: string
  /** The CopyTarget as it was sent, not yet checked. */
  readonly body: unknown
}

/** A request that brings values for a database branch. `body`: as it was sent, not yet checked, and never logged. */
export type CredentialsRequest = Pick<CopyTargetRequest, "caller" | "clientName" | "clientHostname" | "body">

/** Reads the body of a request as JSON. `maxKib`: how many KiB it may have. */
export type ReadBody = (maxKib: number) => Effect.Effect<unknown, ApiError>

/** Copies of targets that are asked for. */
export interface CopySelection {
  /** Missing: in all namespaces. */
  readonly namespace: string | undefined
  /** Only those that this primary has ordered here; it is the only one who asks so. */
  readonly primary?: string
  /** Only the one of this name. A primary that asks for one uses it. */
  readonly name?: string
}

/** A request to connect, as read from the upgrade (operator-api.md §7). */
export interface ConnectRequest extends Asker {
  /** The verb that the API server has authorized: `proxy` below the path prefix `proxy/`, otherwise only `get`. */
  readonly checked: "proxy" | "get"
  readonly namespace: string
  /** The target as the URL names it, such as `deployment.foo.container.bar`; or the name of a copy target. */
  readonly target: string
  /** Whether the URL names a copy target. */
  readonly isCopy?: boolean
  /** Once it is known that the target is a copy. */
  readonly copyTarget?: {
    /** Whether the copy replaces its workload. */
    readonly scaledown: boolean
    /** The copied target, if it is known. */
    readonly of?: Target | undefined
    /** The workload whose queues sessions on the copy split, if it is known. */
    readonly queuesOf?: Target | undefined
    /** Why clusters have no copy, by cluster. */
    readonly leftOut: ReadonlyMap<string, string>
  }
  /** `x-session-id`, not yet checked. */
  readonly sessionId: string | undefined
  readonly clientVersion: string | undefined
  /** `x-braid-term`: the term of the primary's leader that asks. */
  readonly term?: string | undefined
  /** `traceparent`, not yet checked: the trace that the client's request belongs to. */
  readonly traceparent?: string | undefined
  /** The connect parameters, from the header if there is one, else from the URL. Not yet checked. */
  readonly query: string
  /** Once the parameters are read. */
  readonly ignored?: IgnoredParameters
}

/** A connection that may be answered with 101: its session is usable. */
export interface AcceptedConnection {
  /** Runs the connection to its end. */
  readonly serve: (client: FrameChannel) => Effect.Effect<void, never, Scope.Scope>
}

/** The reports on use, and on the health of clusters. */
export type UsageReportName = "usage" | "trends" | "clusters"

/** A report as it is answered. */
export interface ReportAnswer {
  readonly contentType: string
  readonly body: string | Uint8Array
}

/** Which sessions: all, or those that have no client. */
export type SessionSelection = "All" | "Inactive"

/** The operator as the HTTP surface sees it, whatever its role. */
export class OperatorFacade extends Context.Service<
  OperatorFacade,
  {
    /** The `MirrordOperator` object as it is now (operator-api.md §3). */
    readonly describe: Effect.Effect<object, ApiError>
    /** The reasons why no session can be served at the moment, one sentence each; empty: ready. */
    readonly problems: Effect.Effect<ReadonlyArray<string>>
    /** Signs a user's certificate request; PEM in, PEM out. */
    readonly issueCertificate: (csr: string) => Effect.Effect<string, ApiError>
    /** `Session` objects (operator-api.md §4.2), all or those of a namespace and of a session key. */
    readonly listSessions: (
      namespace: string | undefined,
      key?: string
    ) => Effect.Effect<ReadonlyArray<object>, ApiError>
    /** The clusters of a primary's fleet; none for other operators. */
    readonly listClusters: Effect.Effect<ReadonlyArray<ServedCluster>, ApiError>
    readonly cluster: (name: string) => Effect.Effect<ServedCluster, ApiError>
    /** Opens a lane to a member's API server for one request of a person, who is asked for the right to it. */
    readonly proxy: (request: ProxiedRequest, caller: Caller) => Effect.Effect<Duplex, ApiError>
    /**
     * The parts of sessions in splits of queues, of all namespaces or of one (operator-api.md §4.9). Not found where
     * queues are not split, which the client takes for "not enabled".
     */
    readonly listQueueSplits: (
      namespace: string | undefined
    ) => Effect.Effect<ReadonlyArray<ServedQueueSplit>, ApiError>
    readonly queueSplit: (namespace: string, name: string) => Effect.Effect<ServedQueueSplit, ApiError>
    /** `Target` objects (operator-api.md §6.5), of the whole cluster or of a namespace. */
    readonly listTargets: (namespace: string | undefined) => Effect.Effect<ReadonlyArray<object>, ApiError>
    /** The `Target` object of this name, in one of the forms of a connect URL. */
    readonly target: (namespace: string, name: string) => Effect.Effect<object, ApiError>
    /** A `Target` object with the ports that sessions steal whole of it (operator-api.md §6.4). */
    readonly portLocks: (namespace: string, target: string) => Effect.Effect<object, ApiError>
    /**
     * A stream of what the sessions of a user steal, with this session key or with any, as `text/event-stream`
     * (operator-api.md §4.7). Ends when the operator does not lead any more.
     */
    readonly watchInterceptions: (
      caller: Caller,
      key: string | undefined
    ) => Effect.Effect<Stream.Stream<string>, ApiError>
    /**
     * Ends a session for good, in any namespace or only in one. The reference is an id in any of the forms of
     * operator-api.md §4.3.
     */
    readonly deleteSession: (reference: string, caller: Caller, namespace?: string) => Effect.Effect<void, ApiError>
    /** Ends sessions for good and returns their number. */
    readonly deleteSessions: (
      which: SessionSelection,
      caller: Caller,
      namespace?: string
    ) => Effect.Effect<number, ApiError>
    /** Makes a copy of a target; the result is a CopyTarget object that is on its way (operator-api.md §9). */
    readonly createCopyTarget: (request: CopyTargetRequest) => Effect.Effect<object, ApiError>
    readonly listCopyTargets: (selection: CopySelection) => Effect.Effect<ReadonlyArray<object>, ApiError>
    readonly copyTarget: (namespace: string, name: string, caller: Caller) => Effect.Effect<object, ApiError>
    /**
     * Takes values for a database branch; the result names the Secret that the branch is to name (operator-api.md
     * §1.8).
     */
    readonly takeCredentials: (request: CredentialsRequest) => Effect.Effect<object, ApiError>
    /**
     * Answers an AdmissionReview about a pod that is being created, for the queue split of this uid. The caller may be
     * anyone, so the body is read when it is known how much of it is worth reading.
     */
    readonly reviewPod: (uid: string, body: ReadBody) => Effect.Effect<object, ApiError>
    /** A report on use; not found where it is not recorded. */
    readonly usageReport: (which: UsageReportName, search: URLSearchParams) => Effect.Effect<ReportAnswer, ApiError>
    /** Completes when the session is usable. */
    readonly connect: (request: ConnectRequest) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope>
  }
>()("braid/app/OperatorFacade") {}

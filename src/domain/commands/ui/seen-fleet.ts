/** The findings of one look at a fleet, from which the page of `braid ui` is made. */

import type { ToldEvent } from "../../events/told-event.ts"
import type { MirrordCluster } from "../../resources/mirrord-cluster.ts"
import type { MirrordOperator } from "../../resources/mirrord-operator.ts"
import type { BranchRow } from "../overview/branch-row.ts"
import type { QueueRow } from "../overview/queue-row.ts"
import type { SessionRow } from "../overview/session-row.ts"
import type { LocalEvent, LocalSession } from "./local-session.ts"

/** The findings of a look. */
export interface SeenFleet {
  /** The context of the kubeconfig by which it was read. */
  readonly context: string
  readonly operator: MirrordOperator
  /** The clusters' own objects; `undefined` if the person may not read them. */
  readonly clusters: ReadonlyArray<MirrordCluster> | undefined
  readonly sessions: ReadonlyArray<SessionRow>
  readonly branches: ReadonlyArray<BranchRow>
  readonly queues: ReadonlyArray<QueueRow>
  readonly events: ReadonlyArray<ToldEvent>
  /** The sessions of this machine, by their own programs. */
  readonly local: ReadonlyArray<LocalSession>
  /** Deeds of their processes, newest first, by the session's id. */
  readonly localEvents: ReadonlyMap<string, ReadonlyArray<LocalEvent>>
  /** The parts that could not be read, each as a sentence. */
  readonly notes: ReadonlyArray<string>
}

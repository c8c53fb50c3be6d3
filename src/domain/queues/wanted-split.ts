/**
 * The split that a session asks for.
 *
 * Not here: the configuration of the workload's queues (split-configuration.ts).
 */

import type { SplitWorkload } from "./chosen-configuration.ts"
import type { SplitSession } from "./chosen-session.ts"
import type { FilterText } from "./message-filter.ts"
import type { GivenQueue } from "./observed-split.ts"

/** A workload, and the container of a session there; `undefined` if the operator chooses it. */
export interface NamedWorkload extends Omit<SplitWorkload, "container"> {
  readonly container: string | undefined
}

export interface WantedSplit {
  readonly workload: NamedWorkload
  /** The filters for queues of SQS by their ids, as the user wrote them. A filter without any text matches nothing. */
  readonly filters: ReadonlyMap<string, FilterText>
  /** By the ids of queues; those that are not here steal. */
  readonly modes: ReadonlyMap<string, SplitSession["mode"]>
  /** Whether `mirrord up` asks for whatever queues there are, so that a workload without any is no mistake. */
  readonly isAutomatic: boolean
  /** The session's key; `undefined` if it has none. */
  readonly sessionKey: string | undefined
  /**
   * When the session started, epoch ms: the same number in every cluster. `undefined` for a session of one cluster,
   * whose object says it.
   */
  readonly startedAt: number | undefined
  /** Whether other clusters send to the queues that this cluster makes. */
  readonly isShared: boolean
  /** Queues that another cluster has made for the session; `undefined` if this cluster makes them. */
  readonly given: ReadonlyArray<GivenQueue> | undefined
}

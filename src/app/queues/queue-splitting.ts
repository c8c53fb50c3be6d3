/** Whether and how this operator splits queues of SQS. The operator provides it. */

import { Context, type Effect, type Scope } from "effect"
import type { SplitSettings } from "../../domain/queues/settings.ts"
import type { SplitPlace } from "../../domain/queues/split-place.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { BrokerServices } from "./brokers.ts"
import type { MakeForwarders } from "./running-forwarders.ts"

export interface SplittingOptions extends BrokerServices {
  readonly settings: SplitSettings
  /** The server that stands in for AWS; `undefined` if none is configured. */
  readonly endpoint: string | undefined
  /**
   * Makes forwarders that are loops of the replicas which own the queues; without it, they are loops of this process.
   * `api`: of the own cluster, as the leader may change it. `changed`: a split has to be looked at.
   */
  readonly sharedForwarders?:
    | ((api: KubeApi, changed: (place: SplitPlace) => void) => Effect.Effect<MakeForwarders, never, Scope.Scope>)
    | undefined
}

/** `undefined`: no queue is split. */
export class QueueSplitting extends Context.Service<
  QueueSplitting,
  {
    readonly options: SplittingOptions | undefined
    /** PEM of the certificate that this operator serves; `undefined` if it serves none. */
    readonly servedAuthority: () => string | undefined
  }
>()("braid/app/QueueSplitting") {}

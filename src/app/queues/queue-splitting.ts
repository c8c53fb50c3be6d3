/** Whether and how this operator splits queues of SQS. The operator provides it. */

import { Context } from "effect"
import type { SplitSettings } from "../../domain/queues/settings.ts"
import type { JqPrograms } from "../../ports/jq-programs.ts"
import type { MessageQueues } from "../../ports/message-queues.ts"

export interface SplittingOptions {
  readonly settings: SplitSettings
  readonly queues: MessageQueues["Service"]
  readonly jq: JqPrograms["Service"]
  /** The server that stands in for AWS; `undefined` if none is configured. */
  readonly endpoint: string | undefined
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

/** The meaning of a failed call for the split whose action it was. */

import { sentence } from "../../domain/clean-text.ts"
import type { SplitFailure } from "../../domain/queues/split-failure.ts"
import type { KubeError } from "../../ports/kube-api.ts"
import type { QueueError, QueueErrorReason } from "../../ports/message-queues.ts"

/** Failures that pass by themselves; others last until an administrator acts. */
const passing: ReadonlySet<QueueErrorReason> = new Set(["Throttled", "Unavailable", "DeletedRecently", "NotLeading"])

/** The failure for a split's plan. `at`: epoch ms. */
export const splitFailure = (error: KubeError | QueueError, at: number): SplitFailure =>
  error._tag === "QueueError"
    ? {
        at,
        isLasting: !passing.has(error.reason),
        code: 500,
        message: sentence(`SQS did not carry out ${error.message}`)
      }
    : {
        at,
        isLasting: error.reason === "Forbidden" || error.reason === "Invalid",
        code: 500,
        message: sentence(`The operator could not ${error.operation}: ${error.detail}`)
      }

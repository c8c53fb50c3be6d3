/** The reasons for which calls about queues fail, and for which a session of a split gets nothing more. */

/**
 * - `NoQueue`: the queue does not exist, or is being deleted.
 * - `Denied`: the credentials have no right to this call, or cannot be had.
 * - `Throttled`: too many calls.
 * - `Unavailable`: no answer, or a failure of the server; the call may have had its effect.
 * - `InvalidHandle`: the message was received again since, or its visibility timeout has passed.
 * - `DeletedRecently`: a queue of this name was deleted in the last 60 s, so it cannot be made yet.
 * - `OtherAttributes`: a queue of this name exists with other attributes.
 * - `Invalid`: the message or the arguments themselves are refused, and would be again.
 * - `NotLeading`: nothing was sent, because another replica may lead by now.
 */
export const queueFailureReasons = [
  "NoQueue",
  "Denied",
  "Throttled",
  "Unavailable",
  "InvalidHandle",
  "DeletedRecently",
  "OtherAttributes",
  "Invalid",
  "NotLeading",
  "Other"
] as const

/** The session's queue is gone or cannot be sent to, or its filter gave no answer. */
export const sessionEnds = ["QueueGone", "QueueDenied", "FilterFailed"] as const
export type SessionEnd = (typeof sessionEnds)[number]

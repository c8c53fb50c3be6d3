/**
 * How long the queue of a session stays after it where other clusters send to it: a send to a queue that is being
 * deleted may succeed and be lost.
 */

import type { ObjectMeta } from "../resources/object-meta.ts"
import { childTimes, outlivedMillis } from "../sessions/lonely-child.ts"

/**
 * How long a received message is hidden from others, in seconds, and so the longest time between its receive and its
 * send. It is ours, because a queue's own may be 0 s, or 12 h, which is how long a crash would hide messages.
 */
export const visibilitySeconds = 45

/** Milliseconds after the end of a session. `child`: its part in the cluster that has the queue. */
export const sharedMillis = (child: Pick<ObjectMeta, "annotations">): number =>
  outlivedMillis(childTimes(child)) + visibilitySeconds * 1_000

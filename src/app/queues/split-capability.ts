/** Splits of queues, as a capability: this operator makes none yet. */

import { Layer } from "effect"
import { noSplits, QueueSplits } from "./queue-splits.ts"

/** The splits of this cluster, for the sessions. */
export const splitLayer = Layer.succeed(QueueSplits, noSplits)

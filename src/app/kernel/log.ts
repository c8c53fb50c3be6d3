/**
 * The program's log: the only way in which src/app writes to it.
 */

import { Effect } from "effect"

/** The subject of a log line; constant message, details as key and value (controller-runtime's rule). */
export type LogDetails = Readonly<Record<string, unknown>>

const annotated =
  (log: (message: string) => Effect.Effect<void>) =>
  (message: string, details: LogDetails = {}): Effect.Effect<void> =>
    Effect.annotateLogs(log(message), details)

export const logInfo = annotated((message) => Effect.logInfo(message))
export const logWarning = annotated((message) => Effect.logWarning(message))
export const logError = annotated((message) => Effect.logError(message))

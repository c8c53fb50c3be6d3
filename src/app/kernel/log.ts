/**
 * The program's log. Everything in src/app writes through it, and nothing writes otherwise.
 */

import { Effect } from "effect"

/**
 * The details of a log line as key and value; the message is constant (controller-runtime's rule). No key is one that
 * the line has anyway, because readers of logfmt keep one of two fields of the same name.
 */
export type LogDetails = Readonly<Record<string, unknown>> & {
  readonly [key in "fiber" | "level" | "message" | "timestamp"]?: never
}

const annotated =
  (log: (message: string) => Effect.Effect<void>) =>
  (message: string, details: LogDetails = {}): Effect.Effect<void> =>
    Effect.annotateLogs(log(message), details)

export const logInfo = annotated((message) => Effect.logInfo(message))
export const logWarning = annotated((message) => Effect.logWarning(message))
export const logError = annotated((message) => Effect.logError(message))

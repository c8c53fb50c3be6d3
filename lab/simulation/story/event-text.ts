/**
 * Writes an event as one line of a trace. The same story gives the same lines in every run of the same source, so
 * traces can be compared byte for byte; logged stack traces in them name lines of the source.
 */

import type { TimedEvent } from "../world/world-event.ts"

/**
 * Values made from keys that are drawn again in every run of the program. They are hidden, because traces of the same
 * story must be equal.
 */
const hiddenKeys = new Set(["tls.crt", "tls.key"])

const plain = (key: string, value: unknown): unknown => {
  if (hiddenKeys.has(key)) return "…"
  if (typeof value === "bigint") return `${value}n`
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64")
  if (value instanceof Map) return [...value]
  if (value instanceof Set) return [...value]
  return value
}

/** An event as one line of a trace: JSON with all the event's bytes. */
export const eventText = (event: TimedEvent): string => `${JSON.stringify(event, plain)}\n`

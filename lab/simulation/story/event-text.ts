import type { TimedEvent } from "../world/world-event.ts"

/**
 * Whatever is made from keys that differ between two runs of the program must not decide whether traces are the same.
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

/** An event as one line of a trace: JSON, with all its bytes. */
export const eventText = (event: TimedEvent): string => `${JSON.stringify(event, plain)}\n`

/**
 * Decides by its first bytes whether a redirected connection is HTTP, and puts the bytes back. The bytes themselves are
 * judged in `detect-http.ts`.
 */

import type { Duplex } from "node:stream"
import type { After } from "../agent-output.ts"
import { detectHttp } from "./detect-http.ts"

/** `Raw`: anything other than HTTP. `Gone`: the peer left before it said anything useful. */
export type ConnectionKind = "Http" | "Raw" | "Gone"

const kinds = { http: "Http", other: "Raw" } as const

const concat = (a: Uint8Array, b: Uint8Array): Uint8Array => {
  const whole = new Uint8Array(a.length + b.length)
  whole.set(a)
  whole.set(b, a.length)
  return whole
}

/**
 * Waits for enough first bytes. A peer that says nothing within the time-out is not speaking HTTP (agent.md §6.4). The
 * socket is paused when `decided` is called.
 */
export const detectConnection = (
  socket: Duplex,
  timeoutMs: number,
  after: After,
  decided: (kind: ConnectionKind) => void
): void => {
  let seen: Uint8Array = new Uint8Array(0)
  let stopClock: () => void = () => undefined
  const decide = (kind: ConnectionKind): void => {
    stopClock()
    socket.off("data", onData)
    socket.off("end", onEnd)
    socket.off("close", onClose)
    socket.pause()
    if (seen.length > 0 && kind !== "Gone") socket.unshift(seen)
    decided(kind)
  }
  const wait = (): void => {
    stopClock()
    stopClock = after(timeoutMs, () => decide("Raw"))
  }
  const onData = (chunk: Uint8Array): void => {
    seen = concat(seen, chunk)
    const detected = detectHttp(seen)
    if (detected === "more") return wait()
    decide(kinds[detected])
  }
  // The peer ended within its first line, so there is nothing to answer.
  const onEnd = (): void => {
    socket.destroy()
    decide("Gone")
  }
  const onClose = (): void => decide("Gone")
  socket.on("error", () => undefined)
  socket.on("data", onData)
  socket.once("end", onEnd)
  socket.once("close", onClose)
  wait()
}

/**
 * The strict client's own pings, per kind of client (wire.md §6.16, operator-api.md §8.5). Pings of the operator are
 * answered in `main-phase.ts`.
 */

import { event, fatal, send, type Turn, update } from "./client-state.ts"

/**
 * Called when the client reaches the phase in which it pings. Port-forwarding pings at once, other kinds after one
 * interval.
 */
export const startPings = (turn: Turn): void => {
  const { kind, pingInterval } = turn.state.options
  if (kind === "cli" || kind === "dump") return
  const nextAt = kind === "portForward" || kind === "reversePortForward" ? turn.now : turn.now + pingInterval
  update(turn, { pings: { ...turn.state.pings, nextAt, lastOtherMessageAt: turn.now } })
}

/** Pings if it is time. `"Timeout"`: the operator has been silent for too long. */
export const pingTick = (turn: Turn): "Fine" | "Timeout" => {
  const { pings, options } = turn.state
  if (pings.nextAt === undefined || turn.now < pings.nextAt) return "Fine"
  const silent =
    options.kind === "intproxy"
      ? turn.now - pings.lastOtherMessageAt >= (options.maxSilence ?? options.pingInterval)
      : options.kind !== "extproxy"
  if (pings.expected > 0 && silent) return "Timeout"
  update(turn, { pings: { ...pings, expected: pings.expected + 1, nextAt: turn.now + options.pingInterval } })
  send(turn, "ping", { _tag: "Ping" })
  return "Fine"
}

export const pong = (turn: Turn): void => {
  const { pings, options } = turn.state
  if (options.kind !== "dump" && options.kind !== "extproxy" && pings.expected === 0) {
    return fatal(
      turn,
      options.kind === "intproxy" ? "wire.md §6.6 Ping" : "wire.md §6.2 F, G",
      "received an unexpected pong"
    )
  }
  update(turn, { pings: { ...pings, expected: Math.max(0, pings.expected - 1), timeouts: 0 } })
  event(turn, { _tag: "Pong" })
}

/**
 * How the strict client loses a socket and comes back (operator-api.md §8.7, wire.md §5.5 and §6.14). The attempts
 * themselves are made by the machine's caller.
 */

import { carryOut } from "./carry-out.ts"
import { type ClientState, event, fatal, initialState, notDone, send, type Turn, update } from "./client-state.ts"

/** Time before the first attempt and before each of the ten retries, ms. */
const delays = [0, 1000, 2000, 4000, 8000, 8000, 8000, 8000, 8000, 8000, 8000]

const mayReconnect = ({ options, phase }: ClientState): boolean =>
  options.kind === "intproxy" && options.reconnect && phase === "main"

/** The socket is gone or unusable; or, while there is none, an attempt to open one failed with this Status. */
export const connectionLost = (turn: Turn, reason: string, code?: number): void => {
  if (turn.state.phase === "idle") return fatal(turn, "wire.md §6.14", `no connection: ${reason}`)
  if (!turn.state.online) return attemptFailed(turn, reason, code)
  if (!mayReconnect(turn.state)) return fatal(turn, "wire.md §6.14", `the connection was lost: ${reason}`)
  failPending(turn)
  const { pings, highestFd, announces } = turn.state
  const fresh = initialState(turn.state.options)
  update(turn, {
    online: false,
    attempts: 1,
    version: undefined,
    announces,
    pings: { ...fresh.pings, timeouts: pings.timeouts },
    files: fresh.files,
    fdOffset: highestFd + 1n,
    lookups: fresh.lookups,
    envs: fresh.envs,
    connects: fresh.connects,
    legacyConnects: fresh.legacyConnects,
    outgoing: fresh.outgoing,
    incoming: fresh.incoming
  })
  event(turn, { _tag: "Lost", reason })
  turn.outputs.push({ _tag: "Reconnect", after: 0 })
}

const attemptFailed = (turn: Turn, reason: string, code: number | undefined): void => {
  if (code === 410 && reason === "ReconnectNotPossible") {
    return fatal(turn, "operator-api.md §8.8", "the operator says that the session cannot be resumed")
  }
  const after = delays[turn.state.attempts]
  if (after === undefined) return fatal(turn, "operator-api.md §8.7", `no attempt to reconnect succeeded: ${reason}`)
  update(turn, { attempts: turn.state.attempts + 1 })
  turn.outputs.push({ _tag: "Reconnect", after })
}

/** Pending requests get a local error; open connections and descriptors are simply gone. */
const failPending = (turn: Turn): void => {
  const { files, lookups, envs, connects, legacyConnects } = turn.state
  const reason = "the connection was lost"
  for (const request of files) notDone(turn, { _tag: "File", request }, reason)
  for (const { request } of lookups) notDone(turn, request, reason)
  for (const request of envs) notDone(turn, request, reason)
  for (const { request } of [...connects, ...legacyConnects.Tcp, ...legacyConnects.Udp]) notDone(turn, request, reason)
}

/** A new socket is open: announce the version negotiated before, then send what local programs asked for meanwhile. */
export const reconnected = (turn: Turn): void => {
  if (turn.state.online) return
  const { held, pings, options, announces } = turn.state
  update(turn, {
    online: true,
    held: [],
    pings: { ...pings, expected: 0, nextAt: turn.now + options.pingInterval, lastOtherMessageAt: turn.now }
  })
  event(turn, { _tag: "Resumed" })
  send(turn, "main", { _tag: "SwitchProtocolVersion", value: announces })
  for (const request of held) carryOut(turn, request)
}

/**
 * The strict client: braid's stand-in for mirrord's clients, not mirrord's own code. A pure machine without socket or
 * clock: it does what the real clients of 3.250.0 do, and ends where they end (wire.md §5.4, §5.5, §6; operator-api.md
 * §8.4 to §8.8). It is tolerant exactly where they are; what they survive is an event `Ignored`. Sockets are put around
 * it by `session-client.ts` and by the simulation.
 */

import { type DaemonMessage, daemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import { maxMessage } from "../../src/domain/protocol/frame-cutter.ts"
import { atLeast, gate } from "../../src/domain/protocol/version.ts"
import { carryOut } from "./carry-out.ts"
import { type ClientInput, type ClientOptions, defaultStartIdleTimeout, type EnvSelection } from "./client-input.ts"
import type { ClientOutput } from "./client-output.ts"
import { type ClientState, event, fatal, initialState, send, type Turn, update } from "./client-state.ts"
import { requestEnv } from "./lookups.ts"
import { mainMessage, operatorPing } from "./main-phase.ts"
import { pingTick, startPings } from "./ping-pong.ts"
import { connectionLost, reconnected } from "./reconnecting.ts"

export const makeClient = (options: ClientOptions): ClientState => initialState(options)

/**
 * Takes one input. Never throws on bytes of the other side; a `Do` that the wire cannot carry (a port of 70000) is a
 * `RangeError`.
 */
export const step = (state: ClientState, input: ClientInput): readonly [ClientState, ReadonlyArray<ClientOutput>] => {
  if (state.phase === "failed" || state.phase === "finished") return [state, []]
  const turn: Turn = { now: input.now, state, outputs: [] }
  switch (input._tag) {
    case "Start":
      start(turn)
      break
    case "Frame":
      if (state.online) frame(turn, input.kind, input.bytes)
      break
    case "Closed":
      connectionLost(turn, input.reason ?? "the socket ended", input.code)
      break
    case "Reconnected":
      reconnected(turn)
      break
    case "Tick":
      tick(turn)
      break
    case "Do":
      carryOut(turn, input.request)
      break
  }
  if (turn.state.phase !== "failed" && turn.state.phase !== "finished") wake(turn, state, input._tag === "Tick")
  return [turn.state, turn.outputs]
}

const everything: EnvSelection = { filter: new Set(), select: new Set(["*"]) }

const start = (turn: Turn): void => {
  if (turn.state.phase !== "idle") return
  update(turn, { startedAt: turn.now })
  switch (turn.state.options.kind) {
    case "intproxy":
    case "extproxy":
      update(turn, { phase: "firstPing" })
      return send(turn, "main", { _tag: "Ping" })
    case "cli":
    case "portForward":
    case "reversePortForward":
    case "dump":
      update(turn, { phase: "handshake" })
      return send(turn, "main", { _tag: "SwitchProtocolVersion", value: turn.state.announces })
  }
}

const frame = (turn: Turn, kind: "binary" | "text" | "ping" | "pong" | "close", bytes: Uint8Array): void => {
  if (kind !== "binary") return connectionLost(turn, `a ${kind} frame`)
  if (bytes.length > maxMessage) return connectionLost(turn, `a message of ${bytes.length} bytes`)
  const decoded = daemonMessage.decode(bytes)
  switch (decoded._tag) {
    case "Decoded":
      return received(turn, decoded.value)
    case "Incomplete":
      return connectionLost(turn, "a message that ends too early")
    case "Invalid":
      return connectionLost(turn, `a message that cannot be decoded: ${decoded.error.path}: ${decoded.error.message}`)
  }
}

const received = (turn: Turn, message: DaemonMessage): void => {
  const { phase, options, pings } = turn.state
  if (message._tag !== "Pong") update(turn, { pings: { ...pings, lastOtherMessageAt: turn.now } })
  switch (phase) {
    case "idle":
      return fatal(turn, "wire.md §6.2", `${message._tag} before anything was said`)
    case "handshake":
      return handshake(turn, message)
    case "env":
      return environment(turn, message)
    case "firstPing":
      return firstPing(turn, message)
    case "branchEnv":
      return branchEnv(turn, message)
    case "main": {
      if (options.kind === "cli") return
      const waiting = turn.state.version === undefined
      mainMessage(turn, options.kind, message)
      if (waiting && turn.state.version !== undefined && turn.state.phase === "main") release(turn)
      return
    }
    case "finished":
    case "failed":
      return
  }
}

/** Sends the requests that waited for the first version answer (wire.md §5.4). */
const release = (turn: Turn): void => {
  const { held } = turn.state
  update(turn, { held: [] })
  for (const request of held) carryOut(turn, request)
}

/** Phase A, and the start of F, G and H: only the very next message counts. */
const handshake = (turn: Turn, message: DaemonMessage): void => {
  const { kind, env } = turn.state.options
  const rule = kind === "cli" ? "wire.md §6.2 A" : "wire.md §6.2 F, G, H: next at start"
  if (message._tag !== "SwitchProtocolVersionResponse")
    return fatal(turn, rule, `${message._tag} where the version is expected`)
  const version = message.value
  update(turn, { version, announces: version })
  event(turn, { _tag: "Versioned", version })
  if (kind === "cli") {
    update(turn, { phase: "env" })
    return requestEnv(turn, env ?? everything)
  }
  if (!atLeast(version, gate.readyForLogs))
    return fatal(turn, rule, `the version ${version} is below ${gate.readyForLogs}`)
  update(turn, { phase: "main" })
  send(turn, "main", { _tag: "ReadyForLogs" })
  release(turn)
  startPings(turn)
}

const envRetryAfter = 500

/** Phase B. */
const environment = (turn: Turn, message: DaemonMessage): void => {
  if (message._tag === "LogMessage") {
    return event(turn, { _tag: "Log", level: message.value.level._tag, message: message.value.message })
  }
  if (message._tag !== "GetEnvVarsResponse")
    return fatal(turn, "wire.md §6.2 B", `${message._tag} where the environment is expected`)
  if (turn.state.envs.length === 0) return fatal(turn, "wire.md §6.2 B", "an environment that nobody asked for")
  update(turn, { envs: [] })
  const result = message.value
  if (result._tag === "Err" && result.error._tag === "SystemFailure" && result.error.canRetry) {
    return update(turn, { envRetryAt: turn.now + envRetryAfter })
  }
  event(turn, { _tag: "Env", result })
  if (result._tag === "Err") return fatal(turn, "wire.md §6.2 B", `the environment was refused: ${result.error._tag}`)
  event(turn, { _tag: "Finished" })
  update(turn, { phase: "finished" })
}

/** Phase C. */
const firstPing = (turn: Turn, message: DaemonMessage): void => {
  const { kind, branchEnv: selection } = turn.state.options
  switch (message._tag) {
    case "OperatorPing":
      return operatorPing(turn, message.value)
    case "LogMessage":
      if (message.value.level._tag === "Info") return fatal(turn, "wire.md §6.2 C", "an Info log line")
      return event(turn, { _tag: "Log", level: message.value.level._tag, message: message.value.message })
    case "Pong":
      event(turn, { _tag: "Pong" })
      if (kind === "intproxy" && selection !== undefined) {
        update(turn, { phase: "branchEnv" })
        return requestEnv(turn, selection)
      }
      return enterMain(turn)
    default:
      return fatal(turn, "wire.md §6.2 C", `${message._tag} where a Pong is expected`)
  }
}

/**
 * Phase D: any other message only disables the DB port-forwards; the late answer then meets an empty FIFO (wire.md
 * §6.3).
 */
const branchEnv = (turn: Turn, message: DaemonMessage): void => {
  update(turn, { envs: [] })
  if (message._tag === "GetEnvVarsResponse") event(turn, { _tag: "Env", result: message.value })
  else event(turn, { _tag: "Ignored", what: "branchEnvMissed", message: message._tag })
  enterMain(turn)
}

const enterMain = (turn: Turn): void => {
  update(turn, { phase: "main", startedAt: turn.now })
  if (turn.state.options.kind === "intproxy") {
    send(turn, "main", { _tag: "SwitchProtocolVersion", value: turn.state.announces })
  }
  startPings(turn)
}

/** When an intproxy that has never served gives up. */
const idleDeadline = ({ options, phase, online, version, attempts, startedAt }: ClientState): number | undefined =>
  options.kind === "intproxy" && phase === "main" && online && version === undefined && attempts === 0
    ? startedAt + (options.startIdleTimeout ?? defaultStartIdleTimeout)
    : undefined

const tick = (turn: Turn): void => {
  const { envRetryAt, options, online } = turn.state
  if (!online) return
  if (envRetryAt !== undefined && turn.now >= envRetryAt) {
    update(turn, { envRetryAt: undefined })
    return requestEnv(turn, options.env ?? everything)
  }
  const deadline = idleDeadline(turn.state)
  if (deadline !== undefined && turn.now >= deadline)
    return fatal(turn, "wire.md §5.4", "no version answer within the start idle timeout")
  if (turn.state.phase !== "main" || pingTick(turn) === "Fine") return
  const timeouts = turn.state.pings.timeouts + 1
  update(turn, { pings: { ...turn.state.pings, timeouts } })
  if (timeouts > 5) return fatal(turn, "operator-api.md §8.6", "no Pong in time, five times in a row already")
  connectionLost(turn, "no Pong in time")
}

const wakeTime = (state: ClientState): number =>
  state.online
    ? Math.min(state.envRetryAt ?? Infinity, idleDeadline(state) ?? Infinity, state.pings.nextAt ?? Infinity)
    : Infinity

const wake = (turn: Turn, before: ClientState, ticked: boolean): void => {
  const at = wakeTime(turn.state)
  // A Tick that came too early has used up the wish to be woken.
  if (at !== Infinity && (ticked || at !== wakeTime(before)))
    turn.outputs.push({ _tag: "WakeAt", at: Math.max(at, turn.now) })
}

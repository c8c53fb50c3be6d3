/**
 * A client's connection as the parts of the reference agent see it: sending, waiting, logging, timers. The simulated
 * agent gives the same parts its own connections.
 */

import type { DaemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import type { ResponseError } from "../../src/domain/protocol/response-error.ts"

/** The way out to one client, as the parts of an agent see it. */
export interface AgentOutput {
  /** Sends a message. `false`: the client does not keep up, and producers stop until {@link drained} calls back. */
  readonly send: (message: DaemonMessage) => boolean
  /** A `LogMessage`, dropped until the client has said `ReadyForLogs`. */
  readonly log: (level: "Warn" | "Error", message: string) => void
  /** Calls back once, as soon as the client keeps up again; never after the client is gone. */
  readonly drained: (resume: () => void) => void
  /** The version that the client has announced. */
  readonly version: () => string
  /** Stops reading the client's messages until the returned function is called (once). */
  readonly hold: () => () => void
}

/** Calls `run` once after `milliseconds`, unless the returned function is called before. */
export type After = (milliseconds: number, run: () => void) => () => void

export const systemAfter: After = (milliseconds, run) => {
  const timer = setTimeout(run, milliseconds)
  return () => clearTimeout(timer)
}

export const ok = <A>(value: A): { readonly _tag: "Ok"; readonly value: A } => ({ _tag: "Ok", value })
export const err = (error: ResponseError): { readonly _tag: "Err"; readonly error: ResponseError } => ({
  _tag: "Err",
  error
})

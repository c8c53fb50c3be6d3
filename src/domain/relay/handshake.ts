/**
 * Decides when the client may get messages that it did not ask for (wire.md §6.5, §8.16). A log line where the client
 * expects an answer ends the client. That may happen in the phases A to D, and on a connection that never says
 * `ReadyForLogs`. So log lines wait for `ReadyForLogs` and for the answer of a version switch under way. Answers are
 * never postponed.
 *
 * Not here: the agreement about versions (versions.ts).
 */

import { cleanText, textLimits } from "../clean-text.ts"
import { daemonMessage } from "../protocol/daemon-message.ts"
import { atLeast, unannouncedVersion } from "../protocol/version.ts"
import { limits } from "./limits.ts"
import { drop, type RouterState, toClient, type Turn, update, updateClient, warnOperator } from "./state.ts"
import { logLevelSince } from "./table.ts"

/** The version by which messages to the client are gated. */
export const clientVersion = (state: RouterState): string => state.client.version ?? unannouncedVersion

const mayLog = (state: RouterState): boolean => state.client.readyForLogs && state.client.unansweredSwitches === 0

const deliverLog = (turn: Turn, bytes: Uint8Array): void => {
  if (mayLog(turn.state)) return toClient(turn, bytes)
  const { postponedLogs } = turn.state.client
  if (postponedLogs.length >= limits.postponedLogs || bytes.length > limits.postponedLogBytes)
    return drop(turn, "heldLog")
  updateClient(turn, { postponedLogs: [...postponedLogs, bytes] })
}

/** Sends the postponed log lines to the client, if it may get log lines now. */
export const releaseLogs = (turn: Turn): void => {
  const { postponedLogs } = turn.state.client
  if (postponedLogs.length === 0 || !mayLog(turn.state)) return
  updateClient(turn, { postponedLogs: [] })
  for (const bytes of postponedLogs) toClient(turn, bytes)
}

/**
 * Passes on a member's log line. A line before `ReadyForLogs` is dropped, which loses nothing: agents are silent until
 * then.
 */
export const logFromMember = (turn: Turn, level: keyof typeof logLevelSince, bytes: Uint8Array): void => {
  const since = logLevelSince[level]
  if (since !== undefined && !atLeast(clientVersion(turn.state), since)) return drop(turn, "infoLog")
  if (!turn.state.client.readyForLogs) return drop(turn, "earlyLog")
  deliverLog(turn, bytes)
}

/**
 * Gives a warning of the router itself to the operator's log, and to the user as soon as the client may get log lines.
 */
export const warnUser = (turn: Turn, words: string): void => {
  const message = cleanText(words, textLimits.message)
  warnOperator(turn, message)
  if (turn.state.ended) return
  deliverLog(turn, daemonMessage.encode({ _tag: "LogMessage", value: { message, level: { _tag: "Warn" } } }))
}

/** Keeps a message that comes before the default is connected; `false`: there is no room for it. */
export const postpone = (turn: Turn, bytes: Uint8Array): boolean => {
  const postponedCost = turn.state.postponedCost + bytes.length + limits.postponedMessageCost
  if (postponedCost > limits.postponedBytes) return false
  update(turn, { postponed: [...turn.state.postponed, bytes], postponedCost })
  return true
}

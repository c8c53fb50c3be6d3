/**
 * The lines that `braid logs` shows: their times, which are of a session, which are new, and their order.
 *
 * Not here: reading them, and what an operator writes into its log (session/session-act.ts).
 */

import * as Result from "effect/Result"
import { parentInName } from "../../sessions/names.ts"
import { parseSessionReference, type SessionIdError, sessionIdName } from "../../sessions/session-id.ts"

/** A line of a container's log. `at`: when the node received it, epoch ms with a fraction. */
export interface LogLine {
  readonly at: number
  readonly text: string
}

const stamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d) /u

/**
 * A line as the API server gives it, with the node's time in front. Without a time it is no line of the container but
 * what the node has to say, such as a file that is gone; it gets the time of the line before it.
 */
export const readLogLine = (line: string, before: number): LogLine => {
  const [head, seconds, fraction = ".0", zone] = stamp.exec(line) ?? []
  const whole = head === undefined ? Number.NaN : Date.parse(`${seconds}${zone}`)
  return head === undefined || Number.isNaN(whole)
    ? { at: before, text: line }
    : { at: whole + Number(`0${fraction}`) * 1_000, text: line.slice(head.length) }
}

/** How far a log has been read: the time of the last line, and how many of the read lines have that time. */
export interface LogPosition {
  readonly at: number
  readonly lines: number
}

/** The position before the first line. */
export const logStart: LogPosition = { at: 0, lines: 0 }

const positionAfter = ({ at, lines }: LogPosition, next: number): LogPosition => ({
  at: next,
  lines: next === at ? lines + 1 : 1
})

/** A log that is read from the beginning of a second on: API servers begin at whole seconds only. */
export interface LogReading {
  /** How far an earlier reading came. */
  readonly before: LogPosition
  readonly here: LogPosition
  readonly isNew: boolean
}

/** A reading of a log that was read before, up to a position. */
export const readOn = (before: LogPosition): LogReading => ({ before, here: logStart, isNew: false })

/** Takes the next line. It is new if the earlier reading did not come so far. */
export const nextLine = ({ before, here, isNew }: LogReading, raw: string): readonly [LogReading, LogLine] => {
  const line = readLogLine(raw, here.at)
  const position = positionAfter(here, line.at)
  const isBehind = position.at > before.at || (position.at === before.at && position.lines > before.lines)
  // All lines behind a new one are new, even if the clock of the node was set back between them.
  return [{ before, here: position, isNew: isNew || isBehind }, line]
}

/** Selects the lines about a session, in whichever cluster: its part there has the session's name in front. */
export type LineFilter = (text: string) => boolean

const isOfWord = (char: string): boolean => /^[0-9a-zA-Z]$/u.test(char)

const hasWord = (text: string, word: string): boolean => {
  for (let from = text.indexOf(word); from >= 0; from = text.indexOf(word, from + 1))
    if (!isOfWord(text.charAt(from - 1)) && !isOfWord(text.charAt(from + word.length))) return true
  return false
}

/** Reads a session's id in any of its forms, or the name of its part in a cluster. */
export const linesOfSession = (reference: string): Result.Result<LineFilter, SessionIdError> =>
  Result.map(parseSessionReference(parentInName(reference) ?? reference), (ids) => {
    const names = ids.map(sessionIdName)
    return (text) => names.some((name) => hasWord(text, name))
  })

/** The log of one pod, in the order in which it was written. */
export interface PodLog {
  readonly cluster: string
  readonly pod: string
  readonly lines: ReadonlyArray<LogLine>
}

/** A line, and the pod that wrote it. */
export interface MergedLine extends LogLine {
  readonly cluster: string
  readonly pod: string
}

/** The pod that wrote a line, in front of each line. */
export const lineSource = ({ cluster, pod }: Pick<MergedLine, "cluster" | "pod">): string => `${cluster}/${pod}`

/** Lines of one pod never change places, even if the clock of its node was set back between them. */
const ofOnePod = ({ cluster, lines, pod }: PodLog): ReadonlyArray<MergedLine> => {
  let latest = 0
  return lines.map(({ at, text }) => {
    latest = Math.max(latest, at)
    return { at: latest, cluster, pod, text }
  })
}

/** The lines of all pods by time. */
export const mergedLines = (logs: ReadonlyArray<PodLog>): ReadonlyArray<MergedLine> =>
  logs.flatMap(ofOnePod).toSorted((a, b) => a.at - b.at)

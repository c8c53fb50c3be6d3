/**
 * The command `braid logs`: shows what the operators of a cluster and of its members have logged, by time.
 *
 * Not here: which clusters (overview/readable-clusters.ts), reading (operator-logs.ts), order
 * (domain/commands/overview/log-lines.ts).
 */

import { styleText } from "node:util"
import { Effect, Result } from "effect"
import { cleanText } from "../../../domain/clean-text.ts"
import {
  lineSource,
  linesOfSession,
  type MergedLine,
  mergedLines
} from "../../../domain/commands/overview/log-lines.ts"
import { parseSince } from "../../../domain/commands/overview/since.ts"
import type { Unanswered } from "../overview/ask-cluster.ts"
import { readableClusters } from "../overview/readable-clusters.ts"
import { tellNote, tellUnanswered } from "../overview/tell.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { OperatorLogs, type WantedLines } from "./operator-logs.ts"

export interface LogsOptions extends KubeConfigChoice {
  /** The only session whose lines are shown; undefined: all lines. */
  readonly session: string | undefined
  /** The only cluster to read; undefined: the chosen one and its members. */
  readonly cluster: string | undefined
  /** Namespace of the operators. */
  readonly namespace: string
  /** A time span such as `5m`. */
  readonly since: string | undefined
  readonly follow: boolean
  readonly previous: boolean
}

/** Receives what is shown. */
export interface LogsOutput {
  readonly line: (line: MergedLine) => void
  readonly note: (note: string) => void
  readonly problem: (problem: Unanswered) => void
}

const readOptions = ({
  follow,
  namespace,
  previous,
  session,
  since
}: LogsOptions): Result.Result<WantedLines, Unanswered> =>
  Result.gen(function* () {
    if (follow && previous)
      return yield* Result.fail({
        message: "--previous and --follow exclude each other: a run that has ended logs nothing more.",
        fix: "Leave one of them out."
      })
    const sinceSeconds = since === undefined ? undefined : yield* parseSince(since)
    const isWanted =
      session === undefined
        ? () => true
        : yield* Result.mapError(linesOfSession(session), ({ message }) => ({
            message: `--session: ${message}`,
            fix: "braid sessions lists those that there are."
          }))
    return { namespace, isWanted, sinceSeconds, previous }
  })

/** Says each problem once: most concern every pod, and those of a loop come again. */
const once = (problem: LogsOutput["problem"]): LogsOutput["problem"] => {
  const told = new Set<string>()
  return (each) => {
    if (told.has(each.message)) return
    told.add(each.message)
    problem(each)
  }
}

/** Shows the lines, with `follow` until it is interrupted. True if there was at least one. */
export const showLogs = (options: LogsOptions, output: LogsOutput): Effect.Effect<boolean, Unanswered> =>
  Effect.gen(function* () {
    const wanted = yield* Effect.fromResult(readOptions(options))
    const { clusters, leftOut, notes } = yield* readableClusters(options, options.cluster)
    for (const note of [...notes, ...leftOut]) output.note(note)
    const problem = once(output.problem)
    const readers = clusters.map((cluster) => new OperatorLogs(cluster, wanted))
    const found = yield* Effect.forEach(readers, ({ untilNow }) => untilNow, { concurrency: "unbounded" })
    const lines = mergedLines(found.flatMap(({ logs }) => logs))
    lines.forEach(output.line)
    found.flatMap(({ problems }) => problems).forEach(problem)
    if (options.follow)
      return yield* Effect.forEach(readers, ({ follow }) => follow(output.line, problem), {
        concurrency: "unbounded"
      }).pipe(Effect.as(true))
    const isRead = found.some(({ logs }) => logs.length > 0)
    if (isRead && lines.length === 0)
      output.problem({
        message: "There are no such lines.",
        fix: "Leave --since or --session out, or name another; braid sessions lists the sessions that there are."
      })
    return lines.length > 0
  }).pipe(Effect.scoped)

const colours = ["cyan", "yellow", "green", "magenta", "blue", "red"] as const

/** Lines for standard output. On a terminal each pod has a colour, unless `NO_COLOR` is set. */
const printed = (): LogsOutput["line"] => {
  const isColoured = process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === ""
  const known = new Map<string, (typeof colours)[number]>()
  const shown = (source: string): string => {
    const colour = known.get(source) ?? colours[known.size % colours.length] ?? "cyan"
    known.set(source, colour)
    return isColoured ? styleText(colour, source, { validateStream: false }) : source
  }
  return (line) => console.log(`${shown(lineSource(line))}  ${cleanText(line.text, Number.POSITIVE_INFINITY)}`)
}

/** Ends when the output's reader is gone, as with `braid logs | head`. */
const outputEnds: Effect.Effect<boolean> = Effect.callback((resume) => {
  const end = (): void => resume(Effect.succeed(true))
  process.stdout.once("error", end)
  return Effect.sync(() => process.stdout.off("error", end))
})

/** Exit code 1 if there was no line. The end of `--follow` is an interrupt, and no failure. */
export const runLogs = (options: LogsOptions): Effect.Effect<number> =>
  Effect.suspend(() => {
    if (options.follow) process.exitCode = 0
    return Effect.raceFirst(showLogs(options, { line: printed(), note: tellNote, problem: tellUnanswered }), outputEnds)
  }).pipe(
    Effect.map((isRead) => (isRead ? 0 : 1)),
    Effect.catch((problem) => {
      tellUnanswered(problem)
      return Effect.succeed(1)
    })
  )

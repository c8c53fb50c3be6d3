/**
 * Prints how the stories go, for people or as JSON lines. Standard output depends on the stories alone, so it can be
 * compared; progress goes to standard error.
 */

import { type Failure, failureJson, failureText } from "./failure.ts"
import { faultsText, type Tally, virtualHours } from "./tally.ts"
import type { Outcome } from "./work.ts"

/** The streams of the command: results go to standard output, progress to standard error. */
export interface Streams {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Columns of the terminal on standard error; undefined if it is no terminal. */
  readonly columns: () => number | undefined
}

export const standardStreams: Streams = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  columns: () => (process.stderr.isTTY ? process.stderr.columns : undefined)
}

/** Tells people or programs how the stories go. */
export interface Output {
  readonly passed: (number: number, title: string, outcome: Outcome) => void
  readonly failed: (failure: Failure, brief: boolean) => void
  readonly say: (line: string) => void
  /** Called again and again. `elapsed` is in real ms; `total` is the number of stories, if it is known. */
  readonly progress: (tally: Tally, elapsed: number, total: number | undefined) => void
  readonly summary: (tally: Tally, elapsed: number) => void
}

export interface OutputOptions {
  readonly json: boolean
  /** Whether each story's transcript is shown, passed or not. */
  readonly transcripts: boolean
}

/** Most kinds of faults in a line of progress; the summary has all. */
const kindsInLine = 5
const clearLine = "\r\x1b[2K"
/** Real ms between two lines of progress where a line cannot be rewritten. */
const lineEvery = 5_000

const progressText = (tally: Tally, elapsed: number, total: number | undefined): string => {
  const done = tally.passed + tally.failed
  const rate = elapsed > 0 ? (done * 1000) / elapsed : 0
  const stories = total === undefined ? `${done} stories` : `${done}/${total} stories`
  return (
    `${stories}, ${virtualHours(tally)} virtual hours, ${rate.toFixed(1)} stories/s, ${tally.failed} failed, ` +
    `faults: ${faultsText(tally, kindsInLine)}`
  )
}

const jsonOutput = ({ out }: Streams, { transcripts }: OutputOptions): Output => {
  const write = (value: object): void => out(`${JSON.stringify(value)}\n`)
  return {
    passed: (number, name, { faults, story, transcript, virtualMs }) =>
      write({
        story: number,
        name,
        ok: true,
        seed: story.seed,
        virtualMs,
        faults,
        ...(transcripts ? { transcript } : {})
      }),
    failed: (failure) =>
      write({ ...failureJson(failure), ...(transcripts ? { wholeTranscript: failure.found.transcript } : {}) }),
    say: () => undefined,
    progress: () => undefined,
    summary: ({ failed, faults, passed, virtualMs }) => write({ passed, failed, virtualMs, faults })
  }
}

const textOutput = ({ columns, err, out }: Streams, { transcripts }: OutputOptions): Output => {
  let isLineOpen = false
  let lastLine = 0
  const clear = (): void => {
    if (isLineOpen) err(clearLine)
    isLineOpen = false
  }
  const write = (lines: ReadonlyArray<string>): void => {
    clear()
    out(lines.map((line) => `${line}\n`).join(""))
  }
  return {
    passed: (_number, _title, { transcript }) => (transcripts ? write(transcript) : undefined),
    failed: (failure, brief) =>
      write([...(transcripts ? failure.found.transcript : []), ...failureText(failure, brief)]),
    say: (line) => write([line]),
    progress: (tally, elapsed, total) => {
      const text = progressText(tally, elapsed, total)
      const width = columns()
      if (width !== undefined) {
        err(`${clearLine}${text.slice(0, width - 1)}`)
        isLineOpen = true
      } else if (elapsed - lastLine >= lineEvery) {
        lastLine = elapsed
        err(`${text}\n`)
      }
    },
    summary: (tally, elapsed) => {
      clear()
      err(`${progressText(tally, elapsed, undefined)}\n`)
      write([
        `${virtualHours(tally)} virtual hours; faults: ${faultsText(tally)}`,
        `${tally.passed} passed, ${tally.failed} failed`
      ])
    }
  }
}

export const makeOutput = (streams: Streams, options: OutputOptions): Output =>
  options.json ? jsonOutput(streams, options) : textOutput(streams, options)

/**
 * Finds the sessions that want the messages of one batch. Each program of jq reads a message once, however many
 * sessions have it, and the metadata of its object is read once for all programs.
 *
 * Not here: the rules of filters (domain/queues/message-filter.ts).
 */

import { Array as Arr, Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { chooseSessions, type Choice } from "../../domain/queues/chosen-session.ts"
import { jqInput, verdict } from "../../domain/queues/jq-program.ts"
import { attributeTexts, passesPatterns, wantsMessage } from "../../domain/queues/message-filter.ts"
import type { ReceivedMessage } from "../../domain/queues/queue-message.ts"
import { JqFailed, type JqPrograms } from "../../ports/jq-programs.ts"
import type { ReadMetadata } from "./object-metadata.ts"
import type { TableSession } from "./split-table.ts"

/** The options of the original queue that filters depend on. */
export interface MatchOptions {
  /** Whether bodies may be envelopes of Amazon SNS. */
  readonly sns: boolean
  /** How long a program may take for a message, in ms. */
  readonly jqLimit: number
}

/** Whom the match of messages asks. */
export interface MatchServices {
  readonly jq: JqPrograms["Service"]
  /** `undefined` if programs see no metadata of objects. */
  readonly readMetadata: ReadMetadata | undefined
}

/** Messages that a program reads in one run, at most. Programs of other sessions wait meanwhile. */
const readAtOnce = 10
/** Bound of one run, in ms. The port of jq has a tighter one. */
const verdictLimit = 5_000

/** Called for each session whose filter gives no answer. */
type FilterFailed = (session: TableSession, detail: string) => void

/** The verdicts of a program on the messages that it was asked about; a sentence if it gave none. */
type Said = ReadonlyMap<ReceivedMessage, boolean> | JqFailed

const ask = Effect.fnUntraced(function* (
  jq: JqPrograms["Service"],
  { jqLimit }: MatchOptions,
  program: string,
  inputOf: ReadonlyMap<ReceivedMessage, JsonObject>
): Effect.fn.Return<Said> {
  const [messages, inputs] = [[...inputOf.keys()], [...inputOf.values()]]
  const run = (some: ReadonlyArray<unknown>) =>
    Effect.timeoutOrElse(jq.run({ program, inputs: some, limit: jqLimit }), {
      duration: verdictLimit,
      orElse: () => Effect.fail(new JqFailed({ reason: "TooSlow", detail: `it took longer than ${verdictLimit} ms` }))
    })
  return yield* Effect.forEach(Arr.chunksOf(inputs, readAtOnce), run).pipe(
    Effect.map((runs) => runs.flat()),
    Effect.map((outputs): Said => new Map(messages.map((message, at) => [message, verdict(outputs[at] ?? [])]))),
    Effect.catch((error) => Effect.succeed<Said>(error))
  )
})

/** The choice among the sessions, by messages. A session whose filter gives no answer wants none. */
export const matchBatch = Effect.fnUntraced(function* (
  { jq, readMetadata = () => Effect.undefined }: MatchServices,
  options: MatchOptions,
  {
    messages,
    sessions
  }: { readonly messages: ReadonlyArray<ReceivedMessage>; readonly sessions: ReadonlyArray<TableSession> },
  filterFailed: FilterFailed
): Effect.fn.Return<ReadonlyMap<ReceivedMessage, Choice<TableSession>>> {
  const texts = messages.map((message) => [message, attributeTexts(message, options)] as const)
  const questions = new Map<string, Set<ReceivedMessage>>()
  for (const { filter } of sessions) {
    if (filter.program === undefined) continue
    const asked = questions.get(filter.program) ?? new Set()
    questions.set(filter.program, asked)
    for (const [message, found] of texts) if (passesPatterns(filter, found)) asked.add(message)
  }
  const inputs = yield* Effect.forEach(
    new Set([...questions.values()].flatMap((asked) => [...asked])),
    (message) => Effect.map(readMetadata(message), (found) => [message, jqInput(message, found)] as const),
    { concurrency: "unbounded" }
  )
  const said = new Map<string, Said>()
  yield* Effect.forEach(
    [...questions].filter(([, asked]) => asked.size > 0),
    ([program, asked]) => {
      const inputOf = new Map(inputs.filter(([message]) => asked.has(message)))
      return Effect.map(ask(jq, options, program, inputOf), (answer) => said.set(program, answer))
    },
    { concurrency: "unbounded", discard: true }
  )
  const answerOf = ({ filter }: TableSession): Said | undefined => said.get(filter.program ?? "")
  for (const session of sessions) {
    const answer = answerOf(session)
    if (answer instanceof JqFailed) filterFailed(session, answer.message)
  }
  return new Map(
    texts.map(([message, found]) => {
      const wants = (session: TableSession): boolean => {
        const answer = answerOf(session)
        return wantsMessage(session.filter, found, answer instanceof JqFailed ? undefined : answer?.get(message))
      }
      return [message, chooseSessions(sessions, wants)] as const
    })
  )
})

/**
 * Runs the jq programs by which administrators say where in a JSON value the names of queues are.
 *
 * Not here: the value with other names there (domain/queues/queue-references.ts).
 */

import { Effect, Result } from "effect"
import { quoted } from "../../domain/clean-text.ts"
import { jqProblem } from "../../domain/queues/jq-program.ts"
import { type JqAnswer, type JqRequest, type JsonPath, jqRequests } from "../../domain/queues/queue-references.ts"
import type { QueueVariable } from "../../domain/queues/queue-variables.ts"
import { defaultJqTimeLimitMillis } from "../../domain/queues/split-configuration.ts"
import type { JqPrograms } from "../../ports/jq-programs.ts"

const isPath = (value: unknown): value is JsonPath =>
  Array.isArray(value) && value.every((step) => typeof step === "string" || typeof step === "number")

const isPaths = (value: unknown): value is ReadonlyArray<JsonPath> => Array.isArray(value) && value.every(isPath)

const answer = Effect.fnUntraced(function* (
  jq: JqPrograms["Service"],
  { program, value }: JqRequest
): Effect.fn.Return<ReadonlyArray<JsonPath>, string> {
  const problem = jqProblem(program)
  if (problem !== undefined) return yield* Effect.fail(`${problem}: let it read the value alone`)
  const input = yield* Effect.fromResult(
    Result.try({ try: (): unknown => JSON.parse(value), catch: () => "needs a JSON value" })
  )
  // By itself first: a text like `.a) | (.b` is a program only between the parentheses.
  const outputs = yield* Effect.andThen(
    jq.check(program),
    jq.run({ program: `[path(${program}\n)]`, inputs: [input], limit: defaultJqTimeLimitMillis })
  ).pipe(Effect.mapError(({ detail }) => `${quoted(program)} gave no answer: ${detail}`))
  const paths = outputs[0]?.[0]
  return isPaths(paths)
    ? paths
    : yield* Effect.fail(`${quoted(program)} does not lead to parts of the value, as .queues[].name does`)
})

/** The answers to all requests of the variables. */
export const selectorAnswers = (
  jq: JqPrograms["Service"],
  variables: ReadonlyArray<QueueVariable>
): Effect.Effect<JqAnswer> => {
  const keyOf = ({ program, value }: JqRequest): string => JSON.stringify([program, value])
  return Effect.forEach(jqRequests(variables), (request) =>
    Effect.map(Effect.result(answer(jq, request)), (found) => [keyOf(request), found] as const)
  ).pipe(
    Effect.map((all) => {
      const answers = new Map(all)
      return (request) => answers.get(keyOf(request)) ?? Result.fail("was not run")
    })
  )
}

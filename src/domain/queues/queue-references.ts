/**
 * The queues inside the value of a variable, and the value with other queues in their places: the text around a name
 * stays, a URL becomes a URL and a name a name.
 *
 * Not here: which variables name queues (queue-variables.ts), and running jq.
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { isObject } from "../json.ts"
import type { QueueVariable } from "./queue-variables.ts"

/** A queue as a value names it. */
export interface QueueReference {
  /** The part of the value: a name or a URL. */
  readonly text: string
  readonly name: string
  /** The same sort of text for a queue of another name. */
  readonly renamed: (name: string) => string
}

/** Reads a name or a URL; fails for other texts and for foreign hosts, with a sentence that has no full stop. */
export type ReadReference = (text: string) => Result.Result<QueueReference, string>

/** The steps from a JSON value to a part of it: names of fields, and indices from 0. */
export type JsonPath = ReadonlyArray<string | number>

/** A program of jq that has to run. The answer is the paths to what it yields, as `[path(PROGRAM)]` has them. */
export interface JqRequest {
  readonly program: string
  readonly value: string
}

/** The answer to a request. The failure goes on after "The valueSelector …". */
export type JqAnswer = (request: JqRequest) => Result.Result<ReadonlyArray<JsonPath>, string>

/** A variable with the queues in its value. */
export interface QueuesOfVariable extends QueueVariable {
  readonly references: ReadonlyArray<QueueReference>
  /** The value with another text for each reference, in their order. */
  readonly write: (texts: ReadonlyArray<string>) => string
}

/** The requests that must be answered before the variables can be read. */
export const jqRequests = (variables: ReadonlyArray<QueueVariable>): ReadonlyArray<JqRequest> => [
  ...new Map(
    variables.flatMap(({ form, value }) =>
      form._tag === "Jq" ? [[`${form.program}\0${value}`, { program: form.program, value }] as const] : []
    )
  ).values()
]

/** The texts that name queues, and a way to put others in their places. */
interface Places {
  readonly texts: ReadonlyArray<string>
  readonly write: (texts: ReadonlyArray<string>) => string
}

/** The value of a JSON text; `undefined` for another text. */
const parsed = (value: string): unknown => Result.getOrUndefined(Result.try((): unknown => JSON.parse(value)))

const child = (json: unknown, step: string | number): unknown => {
  if (Array.isArray(json)) return typeof step === "number" ? json[step] : undefined
  return isObject(json) ? json[step] : undefined
}

/** A copy with another text at a path that exists. */
const withText = (json: unknown, [step, ...rest]: JsonPath, text: string): unknown => {
  if (step === undefined) return text
  const changed = (key: string | number, item: unknown) => (key === step ? withText(item, rest, text) : item)
  if (Array.isArray(json)) return json.map((item: unknown, index) => changed(index, item))
  return isObject(json)
    ? Object.fromEntries(Object.entries(json).map(([key, item]) => [key, changed(key, item)]))
    : json
}

/** Whether no integer of a JSON text loses digits when it is read. Throws where values are nested too deeply. */
const keepsNumbers = (value: string): boolean => {
  let holds = true
  JSON.parse(value, (_, found: unknown) => {
    holds &&= typeof found !== "number" || !Number.isInteger(found) || Number.isSafeInteger(found)
    return found
  })
  return holds
}

const jsonPlaces = (value: string, paths: ReadonlyArray<JsonPath>): Result.Result<Places, string> => {
  const json = parsed(value)
  const texts: Array<string> = []
  for (const path of paths) {
    const found = path.reduce(child, json)
    if (typeof found !== "string")
      return Result.fail(`has at ${quoted(path.join("."))} no text that could name a queue`)
    texts.push(found)
  }
  const kept = Result.getOrUndefined(Result.try(() => keepsNumbers(value)))
  if (kept !== true) {
    return Result.fail(kept === false ? "has a number of more digits than can be kept" : "is nested too deeply")
  }
  return Result.succeed({
    texts,
    write: (others) =>
      JSON.stringify(paths.reduce((made, path, index) => withText(made, path, others[index] ?? ""), json))
  })
}

/** The places of a value's queues. The failure goes on after "The variable … ". */
const placesOf = ({ form, value }: QueueVariable, jq: JqAnswer): Result.Result<Places, string> => {
  switch (form._tag) {
    case "Whole":
      return Result.succeed({ texts: [value], write: ([text = ""]) => text })
    case "Part": {
      const span = form.find(value)
      if (span === undefined) return Result.fail(`does not hold what the valuePattern ${quoted(form.pattern)} finds`)
      const [before, behind] = [value.slice(0, span.start), value.slice(span.end)]
      return Result.succeed({
        texts: [value.slice(span.start, span.end)],
        write: ([text = ""]) => `${before}${text}${behind}`
      })
    }
    case "JsonMap": {
      const json = parsed(value)
      if (!isObject(json)) return Result.fail("is no JSON object, in which each value names a queue")
      return jsonPlaces(
        value,
        Object.keys(json).map((key) => [key])
      )
    }
    case "Jq": {
      if (parsed(value) === undefined) return Result.fail("is no JSON, which its valueSelector needs")
      const { program } = form
      return Result.flatMap(
        Result.mapError(jq({ program, value }), (problem) => `cannot be read: the valueSelector ${problem}`),
        (paths) => jsonPlaces(value, paths)
      )
    }
  }
}

/** Reads the queues of a variable. The failure is a sentence. */
export const queuesOfVariable = (
  variable: QueueVariable,
  read: ReadReference,
  jq: JqAnswer
): Result.Result<QueuesOfVariable, string> => {
  const where = `The variable ${quoted(variable.variable)} of the container ${quoted(variable.container)}`
  return Result.gen(function* () {
    const { texts, write } = yield* Result.mapError(placesOf(variable, jq), (problem) => `${where} ${problem}.`)
    if (texts.length === 0)
      return yield* Result.fail(`${where} names no queue, but ${quoted(variable.id)} must have one.`)
    const references = yield* Result.mapError(
      Result.all(texts.map(read)),
      (problem) => `${where} names no queue of SQS: ${problem}.`
    )
    return { ...variable, references, write }
  })
}

/**
 * Whether a session wants a message: by regular expressions on the message's attributes, by a program of jq, or by
 * both, which then have to agree (mirrord's page "Queue splitting").
 *
 * Not here: what a program says (jq-program.ts), and the choice among sessions (chosen-session.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { asObject, asString, isObject } from "../json.ts"
import { compileRegex, newEffort, type Regex } from "../regex.ts"
import { jqProblem } from "./jq-program.ts"
import type { ReceivedMessage } from "./queue-message.ts"

/** A filter as the user writes it. */
export interface FilterText {
  /** Patterns by the names of attributes. */
  readonly attributes: Readonly<Record<string, string>>
  /** A program of jq; `undefined` if the filter has none. */
  readonly program: string | undefined
}

export interface MessageFilter extends FilterText {
  /** Every pattern has to be found. Names are in lower case. */
  readonly patterns: ReadonlyArray<{ readonly name: string; readonly pattern: Regex }>
}

/** Reads a user's filter; the failure is a sentence without a full stop. */
export const readMessageFilter = ({ attributes, program }: FilterText): Result.Result<MessageFilter, string> =>
  Result.gen(function* () {
    const patterns: Array<MessageFilter["patterns"][number]> = []
    for (const [name, text] of Object.entries(attributes)) {
      const pattern = yield* Result.mapError(
        compileRegex(text, { ignoreCase: true }),
        (problem) => `The filter of the attribute ${quoted(name)} cannot be used: ${problem}`
      )
      patterns.push({ name: name.toLowerCase(), pattern })
    }
    const problem = program === undefined ? undefined : jqProblem(program)
    return problem === undefined
      ? { attributes, patterns, program }
      : yield* Result.fail(`The jq filter ${problem}: write a filter that reads the message alone`)
  })

/** The texts of a message's attributes by their names in lower case. A name may stand for several attributes. */
export type AttributeTexts = ReadonlyMap<string, ReadonlyArray<string>>

/** Only these types have a text. A type may be longer: `Number.int`. */
const isText = (type: string | undefined): boolean => /^(?:String|Number)(?:\.|$)/u.test(type ?? "")

/** The attributes that Amazon SNS put into the body; empty if the body is no envelope of it. */
const envelopeTexts = (body: string): ReadonlyArray<readonly [string, string]> => {
  let envelope: unknown
  try {
    envelope = JSON.parse(body)
  } catch {
    return []
  }
  return Object.entries(asObject(asObject(envelope)["MessageAttributes"])).flatMap(([name, attribute]) => {
    if (!isObject(attribute) || !isText(asString(attribute["Type"]))) return []
    const value = attribute["Value"]
    return typeof value === "string" || typeof value === "number" ? [[name, String(value)] as const] : []
  })
}

/** The part of a message that patterns see. `sns`: bodies of the queue may be envelopes of Amazon SNS. */
export const attributeTexts = (message: ReceivedMessage, { sns }: { readonly sns: boolean }): AttributeTexts => {
  const own = Object.entries(message.MessageAttributes ?? {}).flatMap(([name, { DataType, StringValue }]) =>
    StringValue !== undefined && isText(DataType) ? [[name, StringValue] as const] : []
  )
  const texts = new Map<string, ReadonlyArray<string>>()
  for (const [name, text] of [...own, ...(sns ? envelopeTexts(message.Body) : [])]) {
    const key = name.toLowerCase()
    texts.set(key, [...(texts.get(key) ?? []), text])
  }
  return texts
}

/**
 * Whether a message passes the patterns of a filter, so that its program has to be asked. A filter without patterns
 * passes all if it has a program, and else none: it was given for a queue from which nothing is wanted. Searches that
 * take too much work find nothing, so the message stays with the workload.
 */
export const passesPatterns = ({ patterns, program }: MessageFilter, texts: AttributeTexts): boolean => {
  if (patterns.length === 0) return program !== undefined
  const effort = newEffort()
  return patterns.every(({ name, pattern }) => texts.get(name)?.some((text) => pattern.matches(text, effort)) === true)
}

/** Whether a session with this filter wants the message. `said`: the verdict of the filter's program, if it has one. */
export const wantsMessage = (filter: MessageFilter, texts: AttributeTexts, said: boolean | undefined): boolean =>
  (filter.program === undefined || said === true) && passesPatterns(filter, texts)

/**
 * Programs of jq by which users choose messages: which are refused, what they read, and what their outputs say.
 *
 * Not here: running them.
 */

import type { JsonObject } from "../json.ts"
import type { ReceivedMessage } from "./queue-message.ts"

/** Words of jq that reach beyond the message, with what they would do. */
const refused: Readonly<Record<string, string>> = {
  halt: "ends the process that runs it",
  halt_error: "ends the process that runs it",
  input: "reads other messages",
  inputs: "reads other messages",
  input_filename: "reads the operator's arguments",
  input_line_number: "reads the operator's arguments",
  include: "reads files of the operator",
  import: "reads files of the operator",
  modulemeta: "reads files of the operator",
  get_search_list: "reads the operator's arguments",
  env: "reads the operator's environment",
  $ENV: "reads the operator's environment",
  debug: "writes messages into the operator's log",
  stderr: "writes messages into the operator's log"
}

/** A comment, a word with the sign before it and a colon behind it, or any other sign. */
const token = /#[^\n]*|(\.|\$\s*)?([A-Za-z_]\w*)(\s*:)?|[^]/uy
/** The rest of a text, to its quote or to the beginning of a program inside it. */
const textRest = /(?:[^"\\]|\\[^(])*(?:"|\\\(|\\?$)/uy

/** The words by which a program calls functions, and its variables with their `$`. Not fields and keys of objects. */
const calledWords = (program: string): ReadonlySet<string> => {
  const words = new Set<string>()
  /** For each text around this place, the parentheses that are open since the program inside of it began. */
  const open: Array<number> = []
  let at = 0
  const take = (expression: RegExp): RegExpExecArray | undefined => {
    expression.lastIndex = at
    const match = expression.exec(program) ?? undefined
    at += match?.[0].length ?? 0
    return match
  }
  const takeText = (): void => {
    if (take(textRest)?.[0].endsWith("\\(") === true) open.push(0)
  }
  for (let found = take(token); found !== undefined; found = take(token)) {
    const [sign, before = "", word, colon] = found
    const depth = open.at(-1)
    if (sign === '"') takeText()
    else if (sign === ")" && depth === 0) {
      open.pop()
      takeText()
    } else if ("()".includes(sign) && depth !== undefined) open.splice(-1, 1, depth + (sign === "(" ? 1 : -1))
    else if (word !== undefined && before.startsWith("$")) words.add(`$${word}`)
    else if (word !== undefined && before === "" && colon === undefined) words.add(word)
  }
  return words
}

/** The reason why a program may not be used, which goes on after its name: `uses …`; `undefined` if it may. */
export const jqProblem = (program: string): string | undefined => {
  const words = calledWords(program)
  const [word, effect] = Object.entries(refused).find(([name]) => words.has(name)) ?? []
  return word && `uses ${word}, which ${effect}`
}

const present = (fields: object): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const base64 = (bytes: Uint8Array): string => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))

/**
 * The input of a program, with binary values in base64, as JSON of the API has them. `s3Metadata`: the metadata of the
 * object that the message is about, with names in lower case; `undefined` if the queue has no such option.
 */
export const jqInput = (message: ReceivedMessage, s3Metadata?: Readonly<Record<string, string>>): JsonObject => {
  const { Attributes, Body, MD5OfBody, MessageAttributes, MessageId, ReceiptHandle } = message
  const attributes = Object.entries(MessageAttributes ?? {}).map(
    ([name, { BinaryValue, DataType, StringValue }]) =>
      [name, present({ DataType, StringValue, BinaryValue: BinaryValue && base64(BinaryValue) })] as const
  )
  return present({
    MessageId,
    ReceiptHandle,
    MD5OfBody,
    Body,
    Attributes: Attributes && present(Attributes),
    MessageAttributes: MessageAttributes && Object.fromEntries(attributes),
    S3Metadata: s3Metadata
  })
}

/** The verdict of a program: the first of its outputs that is a boolean, and no if there is none. */
export const verdict = (outputs: ReadonlyArray<unknown>): boolean =>
  outputs.find((output) => typeof output === "boolean") === true

/**
 * The messages on a tunnel's control lane, each one line of JSON. `type` names the message; a reader leaves out fields
 * that it does not know, and messages whose type it does not know, so that either side may be newer.
 *
 * Not here: the lane itself (adapters/tunnel), and what follows from a message (outpost-plan.ts, cell-tunnels.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { cleanText, quoted, textLimits } from "../clean-text.ts"
import { parseObject } from "../json.ts"
import { fieldProblems } from "../resources/resource-descriptor.ts"

/** The protocol that this version speaks. A greater number is for a change that an older side could not leave out. */
export const tunnelProtocol = 1

/** Bytes of a line at most, without its end. A longer one ends the tunnel. */
export const maxControlLine = 1_048_576

/** UTF-16 code units at most; a PKCS #10 request for a P-256 key has some 400. */
const maxText = { request: 8_192, certificate: 65_536, authorities: 262_144 }
const maxCapabilities = 256

/** A text for people, which is cut and cleaned on both sides. */
const text = (most: number) => {
  const clean = (given: string): string => cleanText(given, most)
  return Schema.String.pipe(
    Schema.decodeTo(Schema.String, SchemaTransformation.transform({ decode: clean, encode: clean }))
  )
}
const pem = (most: number) => Schema.String.check(Schema.isMaxLength(most))
const number = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
/** Sent back as it came, so it is never cut. */
const id = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/u))

const greeting = {
  protocol: Schema.Int.check(Schema.isGreaterThan(0)),
  /** Of the program. */
  version: text(textLimits.name),
  /** Names of what the side can do beyond its protocol. */
  capabilities: Schema.Array(text(textLimits.name)).check(Schema.isMaxLength(maxCapabilities)),
  /** The side's own time, epoch ms: for people, who are to see clocks that differ. */
  clock: number
}

/** The place of a command of this primary, as domain/outbound/command-sequence.ts has it. */
const sequence = { epoch: id, number }
/** SHA-256, hex. */
const hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u))
/** The authorities that an outpost has: the last command about them that it has accepted, and their hash. */
const held = { ...sequence, hash }

const outpostMessages = Schema.TaggedUnion({
  /** The first message of the outpost. It names no cluster: the name is in the certificate and nowhere else. */
  Hello: {
    ...greeting,
    kubernetes: Schema.optional(text(textLimits.name)),
    holds: Schema.Struct(held),
    /** Of the TLS connection that the hello is for, as the port for tunnels has it. */
    binding: hash
  },
  Beat: { number },
  /** Asks for another certificate. `request`: PKCS #10, PEM. */
  Renew: { id, request: pem(maxText.request) },
  /** The answer to a command that was carried out, now or before. */
  Holds: held,
  /** The answer to a command that is refused, because of the last one that was accepted. */
  Behind: held
})
export type OutpostMessage = typeof outpostMessages.Type

const cellMessages = Schema.TaggedUnion({
  /** The answer to a hello: the tunnel is used from now on. `number`: of the tunnel at the cell, for both logs. */
  Welcome: { ...greeting, number: Schema.optional(number) },
  /** The answer to the beat with this number. */
  Answer: { number },
  /** The answer to a renewal. */
  Certificate: { id, certificate: pem(maxText.certificate) },
  /** A command: trust these authorities for the cell from now on, PEM, and no others. */
  Authorities: { ...sequence, authorities: pem(maxText.authorities) },
  /** The tunnel is refused, and ends; with an id that renewal alone is refused. */
  Refused: { why: text(textLimits.message), id: Schema.optional(id) }
})
export type CellMessage = typeof cellMessages.Type

const write = Schema.encodeSync(Schema.Union([outpostMessages, cellMessages]))

/** The line of a message, without its end. */
export const writeLine = (message: OutpostMessage | CellMessage): string => {
  const { _tag, ...fields } = write(message)
  return JSON.stringify({ type: _tag.toLowerCase(), ...fields })
}

const cure = "look whether the address of the cell leads to a primary's operator, and update the older side"

const reader = <M>(messages: Schema.ConstraintDecoder<M> & { readonly cases: object }) => {
  const tags = Object.keys(messages.cases)
  const decode = Schema.decodeUnknownResult(messages, { errors: "all" })
  return (line: string): Result.Result<M | undefined, string> => {
    if (line.length > maxControlLine)
      return Result.fail(`a line of the control lane is longer than ${maxControlLine} bytes; ${cure}`)
    const given = parseObject(line)
    const { type } = given
    if (typeof type !== "string")
      return Result.fail(`a line of the control lane is no JSON object with a type: ${quoted(line)}; ${cure}`)
    const _tag = tags.find((tag) => tag.toLowerCase() === type)
    if (_tag === undefined) return Result.succeed(undefined)
    return Result.mapError(decode({ ...given, _tag }), (error) => {
      const problems = fieldProblems(error).map(({ message, path }) => `${path}: ${message}`)
      return cleanText(`the message ${type} of the control lane is wrong: ${problems.join("; ")}; ${cure}`, 1_024)
    })
  }
}

/**
 * Reads a line that an outpost has sent; `undefined` for a message of a type that this version does not know. After a
 * failure, a clause, the tunnel is of no use.
 */
export const readOutpostLine = reader(outpostMessages)

/** As {@link readOutpostLine}, for a line that the cell has sent. */
export const readCellLine = reader(cellMessages)

/**
 * Reads texts of SQL that users write where one expression or one name is meant. A text that could end the expression,
 * or that a server may read in another way, is refused.
 *
 * Not here: what an expression may do (filter-effects.ts), and whether it is right, which the server says.
 */

import { effectProblem, type FilterPiece } from "./filter-effects.ts"
import type { SqlForm } from "./filter-functions.ts"

/** Names of MySQL and ClickHouse are in backticks. */
const quotes: Readonly<Record<SqlForm, string>> = {
  PostgreSQL: `'"`,
  MySQL: `'"\``,
  ClickHouse: `'"\``
}

/** Engines whose comments may begin with a number sign. */
const numberSigns: ReadonlyArray<SqlForm> = ["MySQL", "ClickHouse"]

/** Quotes of other scripts, which new servers of ClickHouse read as quotes. */
const curlyQuotes = "‘’“”"

/** The problem of a sign outside of texts in quotes; `undefined` if it may stand there. */
const signProblem = (form: SqlForm, sign: string, next: string): string | undefined => {
  if (sign === ";") return "has a filter with a semicolon: it must be one condition on rows"
  // A single colon may name a variable of the client program, and a dollar sign may begin a text of its own.
  if ("\\$:".includes(sign)) return `has a filter with ${sign}, which is not served`
  if (form === "ClickHouse" && curlyQuotes.includes(sign)) return `has a filter with ${sign}, which is not served`
  return ["--", "/*"].includes(sign + next) || (sign === "#" && numberSigns.includes(form))
    ? "has a filter with a comment: leave it out"
    : undefined
}

/** The place of the quote that closes the text in quotes, or why none does. */
const endOfQuotes = (filter: string, from: number): number | string => {
  const open = filter.charAt(from)
  // A quote that is written twice begins the next text, which comes to the same.
  const end = filter.indexOf(open, from + 1)
  if (end === -1) return `has a filter in which ${open} is never closed`
  return filter.slice(from, end).includes("\\") ? "has a filter with a backslash, which is not served" : end
}

const spaces = "\t\n\v\f\r "

const word = /[^\t\n\v\f\r -/:-@[-^`{-~]+/uy
/**
 * Words. All signs beyond ASCII belong to them, as do control characters: engines do not agree on which of them are
 * letters and which are spaces.
 */
const wordOf: Readonly<Record<SqlForm, RegExp>> = {
  PostgreSQL: word,
  MySQL: word,
  ClickHouse: /[^\t\n\v\f\r -/:-@[-^`{-~‘’“”]+/uy
}

/** The piece of a filter that begins at a place, or why it cannot be there. */
const pieceAt = (filter: string, at: number, form: SqlForm): FilterPiece | string => {
  const sign = filter.charAt(at)
  if (quotes[form].includes(sign)) {
    const end = endOfQuotes(filter, at)
    return typeof end === "string" ? end : { _tag: sign === "'" ? "Text" : "Name", text: filter.slice(at, end + 1) }
  }
  const words = wordOf[form]
  words.lastIndex = at
  const [text] = words.exec(filter) ?? []
  if (text !== undefined) return { _tag: "Word", text }
  if (filter.startsWith("::", at)) return { _tag: "Sign", text: "::" }
  return signProblem(form, sign, filter.charAt(at + 1)) ?? { _tag: "Sign", text: sign }
}

/** The pieces of a filter that can stand in parentheses behind `where`, without spaces, or why it cannot. */
const readFilter = (filter: string, form: SqlForm): ReadonlyArray<FilterPiece> | string => {
  const pieces: Array<FilterPiece> = []
  let depth = 0
  for (let at = 0; at < filter.length;) {
    const piece = pieceAt(filter, at, form)
    if (typeof piece === "string") return piece
    if (piece.text === "(") depth++
    if (piece.text === ")") depth--
    if (depth < 0) return "has a filter with a closing parenthesis too many"
    at += piece.text.length
    if (!spaces.includes(piece.text)) pieces.push(piece)
  }
  return depth > 0 ? "has a filter with an opening parenthesis too many" : pieces
}

/**
 * Why a row filter is not served; `undefined` if it is: it is to be one condition in parentheses behind `where` that
 * does nothing but read. Texts in quotes may hold anything but a backslash, which older settings of a server read as an
 * escape.
 */
export const filterProblem = (filter: string, form: SqlForm): string | undefined => {
  if (filter.trim() === "") return "has a filter without a condition: leave the filter out for all rows"
  const read = readFilter(filter, form)
  return typeof read === "string" ? read : effectProblem(read, form)
}

/** A part of a name: bare, or in double quotes in which a quote is written twice. */
const namePart = /(?:"((?:[^"]|"")+)"|([\p{L}_][\p{L}\p{N}_$-]*))(\.|$)/uy

/** The one or two parts of a table's name, such as `orders` or `"Sales"."2024"`; `undefined` if it is no such name. */
export const tableName = (name: string): ReadonlyArray<string> | undefined => {
  const parts: Array<string> = []
  namePart.lastIndex = 0
  for (;;) {
    const [, inQuotes, bare, next] = namePart.exec(name) ?? []
    const part = inQuotes?.replaceAll('""', '"') ?? bare
    if (part === undefined || parts.length === 2) return undefined
    parts.push(part)
    if (next === "") return parts
  }
}

/**
 * A table's name as users of MySQL and ClickHouse write it: as it is, or in backticks, in which a backtick is written
 * twice. `undefined` if it is no such name.
 */
export const backtickedName = (name: string): string | undefined => {
  const [, quoted, bare] = /^(?:`((?:[^`]|``)+)`|([^`.'"\p{Cc}]+))$/u.exec(name) ?? []
  return quoted?.replaceAll("``", "`") ?? bare
}

/** A name in double quotes, for a server that reads names. */
export const quotedName = (parts: ReadonlyArray<string>): string =>
  parts.map((part) => `"${part.replaceAll('"', '""')}"`).join(".")

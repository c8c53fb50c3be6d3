/**
 * Whether a row filter could do more in the source than read: by a function, or by words that lock, write, count on or
 * lead elsewhere. No engine's transaction that only reads keeps a function from ending another user's connection.
 *
 * Not here: the functions that may be called (filter-functions.ts), and how a filter is read (sql-text.ts).
 */

import { cleanText } from "../../clean-text.ts"
import { callable, callablePairs, type SqlForm } from "./filter-functions.ts"

/** A part of a filter: a word, a name or a text in quotes, or a sign. */
export interface FilterPiece {
  readonly _tag: "Word" | "Name" | "Text" | "Sign"
  /** As the filter has it, with its quotes. Two colons are one sign. */
  readonly text: string
}

/** Most characters of a function's name in a sentence. */
const maxName = 128

/** A word as the lists have it; `undefined` if it has signs beyond ASCII, which an engine may take for spaces. */
const folded = (piece: FilterPiece | undefined): string | undefined =>
  piece?._tag === "Word" && /^[A-Za-z_]\w*$/u.test(piece.text) ? piece.text.toLowerCase() : undefined

const isSign = (piece: FilterPiece | undefined, sign: string): boolean => piece?._tag === "Sign" && piece.text === sign

/** Whether the piece before an opening parenthesis is a function that a filter may not call. */
const isCall = (pieces: ReadonlyArray<FilterPiece>, at: number, form: SqlForm): boolean => {
  const [before, called] = [pieces[at - 2], pieces[at - 1]]
  if (called === undefined || called._tag === "Sign") return false
  if (isSign(before, ".")) return true
  const name = folded(called)
  if (called._tag === "Word" && name === undefined) return true
  // A type.
  if (isSign(before, "::")) return false
  // A name with its columns, or a type; `operator(…)` calls the function of an operator.
  if (isSign(before, ")") || folded(before) === "as") return name === "operator"
  return name === undefined || !(callable[form].has(name) || callablePairs.has(`${folded(before) ?? ""} ${name}`))
}

/** The name before an opening parenthesis as the filter has it, with what it belongs to. */
const calledName = (pieces: ReadonlyArray<FilterPiece>, at: number): string => {
  let from = at - 1
  while (from > 1 && (isSign(pieces[from - 1], ".") || isSign(pieces[from - 1], "::"))) from -= 2
  const name = pieces.slice(from, at).map(({ text }) => text)
  return cleanText(name.join(""), maxName)
}

const locking = "has a filter that locks rows of the source: leave that out"
const leading = "has a filter that leads to another server, or counts a sequence on"

/** Words that do more than read without a parenthesis, and the problem. */
const effects: ReadonlyArray<readonly [words: string, problem: string, ...forms: ReadonlyArray<SqlForm>]> = [
  ["into", "has a filter with INTO, which would write: leave it out"],
  ["for update", locking],
  ["for share", locking],
  ["for no key", locking],
  ["for key share", locking],
  ["lock in", locking],
  ["next value", leading],
  // It calls the function that the next word names.
  ["apply", "has a filter with APPLY, which is not served: call the function itself", "ClickHouse"]
]

/** The words and signs of a filter in lower case, with spaces around each, and a quote for each text. */
const spoken = (pieces: ReadonlyArray<FilterPiece>): string => {
  const words = pieces.flatMap(({ _tag, text }) => {
    if (_tag === "Word") return text.toLowerCase().split(/[^a-z_]+/u)
    return _tag === "Sign" ? [text] : ["'"]
  })
  return ` ${words.filter((word) => word !== "").join(" ")} `
}

/** Whether a clause of settings of ClickHouse begins here. */
const setsSettings = (pieces: ReadonlyArray<FilterPiece>, at: number): boolean =>
  folded(pieces[at]) === "settings" && pieces[at + 1]?._tag !== "Sign" && isSign(pieces[at + 2], "=")

/** Why a filter may do more than read; `undefined` if it only reads. */
export const effectProblem = (pieces: ReadonlyArray<FilterPiece>, form: SqlForm): string | undefined => {
  const text = spoken(pieces)
  for (const [words, problem, ...forms] of effects) {
    if ((forms.length === 0 || forms.includes(form)) && text.includes(` ${words} `)) return problem
  }
  if (form === "ClickHouse" && pieces.some((_, at) => setsSettings(pieces, at))) {
    return "has a filter that sets settings of the source: leave them out"
  }
  const call = pieces.findIndex((piece, at) => isSign(piece, "(") && isCall(pieces, at, form))
  return call < 0
    ? undefined
    : `has a filter that calls ${calledName(pieces, call)}, which is none of the functions that a filter may call: ` +
        "leave it out, or let a view of the source call it and filter by the view's rows"
}

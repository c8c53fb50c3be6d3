/**
 * The sentences in the source that users read: those of refusals, which are the arguments of the functions that make an
 * `ApiError`, and all texts of a file.
 */

const codes = {
  badRequest: 400,
  unauthorized: 401,
  forbidden: 403,
  notFound: 404,
  reconnectNotPossible: 410,
  tooLarge: 413,
  internalError: 500,
  serviceUnavailable: 503
} as const
const isMaker = (name: string): name is keyof typeof codes => Object.hasOwn(codes, name)
const call = new RegExp(String.raw`(?<![\w.])(${Object.keys(codes).join("|")})\(`, "gu")

/** A refusal of the source. */
export interface RefusalText {
  readonly code: number
  /** The sentence, with `…` for what is filled in; undefined if it is made elsewhere. */
  readonly text: string | undefined
}

/** The index behind the quotation, template or comment that begins here. */
const behindQuotation = (source: string, start: number): number => {
  const quote = source[start]
  let at = start + 1
  while (at < source.length && source[at] !== quote) {
    if (source[at] === "\\") at += 2
    else if (quote === "`" && source.startsWith("${", at)) at = behindBracket(source, at + 1)
    else at += 1
  }
  return at + 1
}

/** The index behind the bracket that closes the one that begins here. */
const behindBracket = (source: string, start: number): number => {
  let at = start + 1
  while (at < source.length && !/[)\]}]/u.test(source[at] ?? "")) {
    if (/["'`]/u.test(source[at] ?? "")) at = behindQuotation(source, at)
    else if (/[([{]/u.test(source[at] ?? "")) at = behindBracket(source, at)
    else at += 1
  }
  return at + 1
}

/** The text of a literal, with `…` in the places of a template. */
const textOf = (literal: string): string => {
  // JSON has no code points in brackets.
  if (literal.startsWith('"'))
    return String(
      JSON.parse(literal.replaceAll(/\\u\{([0-9a-f]+)\}/giu, (_, hex: string) => `\\u${hex.padStart(4, "0")}`))
    )
  let text = ""
  for (let at = 1; at < literal.length - 1;) {
    if (literal.startsWith("${", at)) {
      text += "…"
      at = behindBracket(literal, at + 1)
    } else {
      if (literal[at] === "\\") at += 1
      text += literal[at] ?? ""
      at += 1
    }
  }
  return text
}

/** The text of literals that are joined by `+`; undefined if anything else is among them. */
const joined = (expression: string): string | undefined => {
  let text = ""
  for (let rest = expression.trim(); ;) {
    if (!/^["'`]/u.test(rest)) return undefined
    const end = behindQuotation(rest, 0)
    text += textOf(rest.slice(0, end))
    rest = rest.slice(end).trim()
    if (rest === "") return text
    if (!rest.startsWith("+")) return undefined
    rest = rest.slice(1).trim()
  }
}

/** All refusals of a file, in their order. */
export const refusalTexts = (source: string): ReadonlyArray<RefusalText> =>
  [...source.matchAll(call)].flatMap(({ 0: found, 1: maker = "", index }) => {
    const start = index + found.length - 1
    const expression = source.slice(start + 1, behindBracket(source, start) - 1).replace(/,\s*$/u, "")
    return isMaker(maker) ? [{ code: codes[maker], text: joined(expression) }] : []
  })

/** A text with fewer words is a name or a part of a sentence. */
const minWords = 3

/** Arguments of these are for the log, or for those who change the code. */
const forOthers = /(?:\blog(?:Debug|Info|Warning|Error)|Metric\.\w+|Effect\.die|new Error)\($/u

const regularExpression = /^\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+\/[a-z]*/u

/** The index behind the literals that begin here and are joined by `+`. */
const behindJoined = (source: string, start: number): number => {
  const end = behindQuotation(source, start)
  const next = /^\s*\+\s*(?=["'`])/u.exec(source.slice(end))
  return next === null ? end : behindJoined(source, end + next[0].length)
}

/** All texts of a file outside of comments and imports, and of templates' inner texts, that are sentences. */
export const sentencesOf = (source: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let at = 0; at < source.length;) {
    if (source.startsWith("/*", at)) at = source.indexOf("*/", at) + 2
    else if (source.startsWith("// ", at)) at = source.indexOf("\n", at)
    else if (/^(?:import|\} from) /u.test(source.slice(at, at + 7)) && /^$|\n/u.test(source[at - 1] ?? ""))
      at = source.indexOf('"\n', at) + 1
    else if (source[at] === "/" && /[(,=:[!&|?{};\s]/u.test(source[at - 1] ?? ""))
      at += regularExpression.exec(source.slice(at))?.[0].length ?? 1
    else if (/["'`]/u.test(source[at] ?? "")) {
      const end = behindJoined(source, at)
      const text = joined(source.slice(at, end)) ?? ""
      const isTold = !forOthers.test(source.slice(0, at).trimEnd())
      if (isTold && (text.match(/[a-z']+(?: |$|[,;:.])/giu) ?? []).length >= minWords) found.push(text)
      at = end
    } else at += 1
  }
  return found
}

/** The sentences of refusals in the source: the arguments of the functions that make an `ApiError`. */

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
  if (literal.startsWith('"')) return String(JSON.parse(literal))
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
    if (!/^["`]/u.test(rest)) return undefined
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

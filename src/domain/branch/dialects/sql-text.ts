/**
 * Reads texts of SQL that users write where one expression or one name is meant. A text that could end the expression,
 * or that a server may read in another way, is refused.
 *
 * Not here: whether the expression is right, which the server says.
 */

/**
 * The engines whose texts are read. Names of MySQL and ClickHouse are in backticks, and their comments may begin with
 * `#`; names of SQL Server may be in brackets.
 */
type SqlForm = "PostgreSQL" | "MySQL" | "ClickHouse" | "SQL Server"

const quotes: Readonly<Record<SqlForm, string>> = {
  PostgreSQL: `'"`,
  MySQL: `'"\``,
  ClickHouse: `'"\``,
  "SQL Server": `'"[`
}

/** Engines whose comments may begin with a number sign. */
const numberSigns: ReadonlyArray<SqlForm> = ["MySQL", "ClickHouse"]

/** Quotes of other scripts, which new servers of ClickHouse read as quotes. */
const curlyQuotes = "‘’“”"

/** The problem of a sign outside of texts in quotes; nothing if it may stand there. */
const signProblem = (form: SqlForm, sign: string, next: string): string | undefined => {
  if (sign === ";") return "has a filter with a semicolon: it must be one condition on rows"
  // A single colon may name a variable of the client program, and a dollar sign may begin a text of its own.
  if ("\\$:".includes(sign)) return `has a filter with ${sign}, which is not served`
  if (form === "ClickHouse" && curlyQuotes.includes(sign)) return `has a filter with ${sign}, which is not served`
  return ["--", "/*"].includes(sign + next) || (sign === "#" && numberSigns.includes(form))
    ? "has a filter with a comment: leave it out"
    : undefined
}

/** The place of the sign that closes a text in quotes or a name in brackets, in which it is written twice; or -1. */
export const closingQuote = (text: string, from: number): number => {
  const open = text.charAt(from)
  // Of a sign that opens as well, a second one begins the next text, which comes to the same.
  if (open !== "[") return text.indexOf(open, from + 1)
  let end = text.indexOf("]", from + 1)
  while (end >= 0 && text.charAt(end + 1) === "]") end = text.indexOf("]", end + 2)
  return end
}

/** The place of the quote that closes the text in quotes, or why none does. */
const endOfQuotes = (filter: string, from: number): number | string => {
  const open = filter.charAt(from)
  const end = closingQuote(filter, from)
  if (end === -1) return `has a filter in which ${open} is never closed`
  return filter.slice(from, end).includes("\\") ? "has a filter with a backslash, which is not served" : end
}

/**
 * Why a row filter cannot stand in parentheses behind `where`; nothing if it can. Texts in quotes may hold anything but
 * a backslash, which older settings of a server read as an escape.
 */
export const filterProblem = (filter: string, form: SqlForm): string | undefined => {
  if (filter.trim() === "") return "has a filter without a condition: leave the filter out for all rows"
  let depth = 0
  for (let at = 0; at < filter.length; at++) {
    const [sign, next] = [filter.charAt(at), filter.charAt(at + 1)]
    if (quotes[form].includes(sign)) {
      const end = endOfQuotes(filter, at)
      if (typeof end === "string") return end
      at = end
    } else if (sign === ":" && next === ":") {
      at++
    } else {
      depth += sign === "(" ? 1 : sign === ")" ? -1 : 0
      const problem = depth < 0 ? "has a filter with a closing parenthesis too many" : signProblem(form, sign, next)
      if (problem !== undefined) return problem
    }
  }
  return depth > 0 ? "has a filter with an opening parenthesis too many" : undefined
}

/** A part of a name: bare, or in double quotes in which a quote is written twice. */
const namePart = /(?:"((?:[^"]|"")+)"|([\p{L}_][\p{L}\p{N}_$-]*))(\.|$)/uy

/** The one or two parts of a table's name, such as `orders` or `"Sales"."2024"`; nothing if it is no such name. */
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
 * twice. Nothing if it is no such name.
 */
export const backtickedName = (name: string): string | undefined => {
  const [, quoted, bare] = /^(?:`((?:[^`]|``)+)`|([^`.'"\p{Cc}]+))$/u.exec(name) ?? []
  return quoted?.replaceAll("``", "`") ?? bare
}

/** A part of a name of SQL Server: bare, in brackets, or in double quotes; a closing sign in them is written twice. */
const bracketedPart = /(?:\[((?:[^\]]|\]\])+)\]|"((?:[^"]|"")+)"|([\p{L}_][\p{L}\p{N}_$#@]*))(\.|$)/uy

/** The one or two parts of a table's name as users of SQL Server write it; nothing if it is no such name. */
export const bracketedName = (name: string): ReadonlyArray<string> | undefined => {
  const parts: Array<string> = []
  bracketedPart.lastIndex = 0
  for (;;) {
    const [, inBrackets, inQuotes, bare, next] = bracketedPart.exec(name) ?? []
    const part = inBrackets?.replaceAll("]]", "]") ?? inQuotes?.replaceAll('""', '"') ?? bare
    if (part === undefined || parts.length === 2) return undefined
    parts.push(part)
    if (next === "") return parts
  }
}

/** A name in double quotes, for a server that reads names. */
export const quotedName = (parts: ReadonlyArray<string>): string =>
  parts.map((part) => `"${part.replaceAll('"', '""')}"`).join(".")

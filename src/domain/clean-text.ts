/**
 * Texts that users and members write, made short and harmless where they enter. The result may be stored, compared and
 * printed as it is.
 *
 * Not here: lines of a log, which show every character of a text (one-line.ts).
 */

import { isObject } from "./json.ts"

/**
 * Longest texts of others that are kept. The definitions in `crds/` have the same numbers. UTF-16 code units, unless
 * noted.
 */
export const textLimits = {
  /** Names of users, machines and versions; names of Kubernetes objects are no longer either. */
  name: 253,
  /** A target as a connect request names it: kind, name and container. */
  targetName: 512,
  /** Bytes of UTF-8 of a connect parameter that is a plain text. */
  parameter: 4_096,
  /** Words of another system inside one of our sentences. */
  quotation: 500,
  /** A sentence in a status, in a warning or in an error of an API server. */
  message: 1_024
} as const

const blanks = /[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]/gu
/** Control characters, halves of surrogate pairs, and the marks that turn the direction of writing. */
const harmful = /[\p{Cc}\p{Cs}\p{Bidi_Control}\uFEFF]/gu

/** Whether `text` ends inside of a character. */
const endsInPair = (text: string): boolean => {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}

/**
 * A text with blanks for its line breaks and tabs, and `U+FFFD` for every other character that could change a terminal
 * or the order of the text around it. A text longer than `most` UTF-16 code units is cut and ends in `…`. A short text
 * without such characters stays as it is, and so does any result of this function.
 */
export const cleanText = (text: string, most: number): string => {
  const cut = text.length <= most ? text : text.slice(0, Math.max(0, most - 1))
  const whole = text.length > most && endsInPair(cut) ? cut.slice(0, -1) : cut
  const clean = whole.replace(blanks, " ").replace(harmful, "\u{fffd}")
  return text.length <= most ? clean : `${clean}…`
}

/**
 * A value for JSON with clean texts at every depth, for a terminal. Names of fields are ours, so they stay; a text is
 * longer here than a parameter only if something is wrong.
 */
export const cleanTexts = (value: unknown): unknown => {
  if (typeof value === "string") return cleanText(value, textLimits.parameter)
  if (Array.isArray(value)) return value.map(cleanTexts)
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, cleanTexts(part)]))
    : value
}

/** A text in quotes, for a sentence that names it. */
export const quoted = (text: string): string => JSON.stringify(cleanText(text, 120))

/** The text without the given characters at its end, in linear time: an expression like `/x+$/` is quadratic. */
export const withoutEnd = (text: string, characters: string): string => {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

/** A sentence for a status, with one full stop. */
export const sentence = (text: string): string => `${withoutEnd(cleanText(text, textLimits.message - 1), ".")}.`

/** Words of another system as a part of one of our sentences: clean, short, and without a full stop at the end. */
export const quotation = (text: string): string => withoutEnd(cleanText(text, textLimits.quotation), ". ")

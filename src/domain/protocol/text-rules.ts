/**
 * Texts that upstream parses while decoding. A parsed value is written back in its canonical form, so decoding yields
 * that form (wire.md §2.4; behaviour of the Rust crates `http` 1.4 and `semver` 1.0).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import type { TextRule } from "./shape.ts"

/** The canonical form, or the problem of the text. */
export type TextCheck = Result.Result<string, string>

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const semverForm =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/
const httpVersions = new Set(["HTTP/0.9", "HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "HTTP/3.0"])
const u64Max = (1n << 64n) - 1n
const maxUri = 65_534
const maxScheme = 64
/** UTF-16 code units of a version; ours (wire.md §2.6), as the crate has no limit. */
const maxVersion = 256

const checkSemver = (text: string): TextCheck => {
  const parts = text.length > maxVersion ? null : semverForm.exec(text)
  return parts !== null && parts.slice(1, 4).every((part) => BigInt(part) <= u64Max)
    ? Result.succeed(text)
    : Result.fail(`${quoted(text)} is not a semantic version such as 1.29.0`)
}

/** Length of the authority at the start of `text`, or what is wrong with it. */
const authorityEnd = (text: string): Result.Result<number, string> => {
  if (text === "") return Result.fail("empty authority")
  const found = text.search(/[/?#]/)
  const end = found < 0 ? text.length : found
  const authority = text.slice(0, end)
  if (!/^[A-Za-z0-9!$&'()*+,\-.:;=@[\]_~%]*$/.test(authority)) return Result.fail("illegal character in the authority")
  const at = authority.lastIndexOf("@")
  if (at >= 0 && at === end - 1) return Result.fail("nothing after @")
  const problem = hostProblem(authority, at)
  return problem === undefined ? Result.succeed(end) : Result.fail(problem)
}

/** The problem of an authority whose characters are fine; `at`: where its last `@` is, or -1. */
const hostProblem = (authority: string, at: number): string | undefined => {
  const open = authority.indexOf("[")
  const close = authority.indexOf("]")
  const bracketsFit =
    open < 0 === close < 0 &&
    open <= close &&
    open === authority.lastIndexOf("[") &&
    close === authority.lastIndexOf("]")
  if (!bracketsFit) return "brackets do not match"
  const percentMayStand = (part: string): boolean => !part.slice(part.lastIndexOf("@") + 1).includes("%")
  if (open >= 0 && !percentMayStand(authority.slice(0, open))) return "% before ["
  const lastStart = Math.max(at, close) + 1
  const last = authority.slice(lastStart)
  if (last.includes("%")) return "% in the host"
  if (last.split(":").length > 2) return "more than one port"
  // The reference counts colons from the start, from the last @ and from ]; more than eight in one go are refused.
  if (authority.split(/[@\]]/).some((part) => part.split(":").length > 9)) return "too many colons"
  return undefined
}

/** Path and query without the fragment, or `undefined` if a character may not stand there. */
const pathAndQuery = (text: string): string | undefined => {
  const hash = text.indexOf("#")
  const kept = hash < 0 ? text : text.slice(0, hash)
  const mark = kept.indexOf("?")
  const path = mark < 0 ? kept : kept.slice(0, mark)
  const query = mark < 0 ? "" : kept.slice(mark + 1)
  if (!/^[!"$-;=@-_a-~\u0080-\u{10ffff}]*$/u.test(path)) return undefined
  return /^[!$-;=?-~\u0080-\u{10ffff}]*$/u.test(query) ? kept : undefined
}

const notUri = (text: string, why: string): TextCheck => Result.fail(`${quoted(text)} is not a URI: ${why}`)

const checkUri = (text: string): TextCheck => {
  const wrong = (why: string): TextCheck => notUri(text, why)
  if (text === "") return wrong("empty")
  if (new TextEncoder().encode(text).length > maxUri) return wrong("too long")
  if (text === "*") return Result.succeed(text)
  if (text.startsWith("/")) {
    const kept = pathAndQuery(text)
    return kept === undefined ? wrong("illegal character") : Result.succeed(kept)
  }
  const scheme = /^([A-Za-z0-9+\-.~]*):\/\//.exec(text)
  if (scheme === null || text.length <= 3) {
    const end = authorityEnd(text)
    if (Result.isFailure(end)) return wrong(end.failure)
    return end.success === text.length ? Result.succeed(text) : wrong("a path without scheme must start with /")
  }
  return checkAbsoluteUri(text, scheme[1] ?? "")
}

/** `name`: the scheme with which `text` begins. */
const checkAbsoluteUri = (text: string, name: string): TextCheck => {
  const wrong = (why: string): TextCheck => notUri(text, why)
  if (name.length > maxScheme) return wrong("scheme too long")
  const rest = text.slice(name.length + 3)
  const authority = authorityEnd(rest)
  if (Result.isFailure(authority)) return wrong(authority.failure)
  const end = authority.success
  if (end === 0) return wrong("empty authority")
  const tail = pathAndQuery(rest.slice(end))
  if (tail === undefined) return wrong("illegal character")
  const canonicalName = /^https?$/i.test(name) ? name.toLowerCase() : name
  return Result.succeed(
    `${canonicalName}://${rest.slice(0, end)}${tail === "" || tail.startsWith("?") ? "/" : ""}${tail}`
  )
}

export const checkText = (rule: TextRule, text: string): TextCheck => {
  switch (rule) {
    case "any":
      return Result.succeed(text)
    case "method":
      return token.test(text) ? Result.succeed(text) : Result.fail(`${quoted(text)} is not an HTTP method`)
    case "uri":
      return checkUri(text)
    case "httpVersion":
      return httpVersions.has(text)
        ? Result.succeed(text)
        : Result.fail(`${quoted(text)} is not an HTTP version (${[...httpVersions].join(", ")})`)
    case "semver":
      return checkSemver(text)
  }
}

/** The lower-case form of a header's name, or `undefined` if it is none. */
export const headerName = (text: string): string | undefined => (token.test(text) ? text.toLowerCase() : undefined)

/** Whether the bytes may be a header's value: no control character but TAB. */
export const isHeaderValue = (value: Uint8Array): boolean =>
  value.every((byte) => (byte >= 32 && byte !== 127) || byte === 9)

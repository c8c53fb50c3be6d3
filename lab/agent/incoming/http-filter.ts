/**
 * Compiles HTTP filters of subscriptions into functions, as far as JavaScript can match what Rust's `fancy-regex`
 * means.
 */

import { Result } from "effect"
import type { HttpFilter, HttpMethodFilter } from "../../../src/domain/protocol/http-filter-messages.ts"
import type { Headers } from "../../../src/domain/protocol/shape.ts"

/** The part of an HTTP request that filters look at. */
export interface RequestHead {
  readonly method: string
  /** Origin form (`/path?query`) or absolute form. */
  readonly uri: string
  readonly headers: Headers
}

/** Whether a request matches. */
export type RequestMatcher = (request: RequestHead) => boolean

const latin1 = (bytes: Uint8Array): string => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Header values are usually UTF-8; other values are compared byte by byte. */
const headerText = (value: Uint8Array): string => {
  try {
    return utf8.decode(value)
  } catch {
    return latin1(value)
  }
}

/** POSIX classes inside brackets, ASCII as in Rust's regex crate. */
const posixClasses: ReadonlyMap<string, string> = new Map([
  ["alnum", "0-9A-Za-z"],
  ["alpha", "A-Za-z"],
  ["ascii", "\\x00-\\x7F"],
  ["blank", "\\t "],
  ["cntrl", "\\x00-\\x1F\\x7F"],
  ["digit", "0-9"],
  ["graph", "!-~"],
  ["lower", "a-z"],
  ["print", " -~"],
  ["punct", "!-\\/:-@\\[-`{-~"],
  ["space", "\\t\\n\\v\\f\\r "],
  ["upper", "A-Z"],
  ["word", "0-9A-Za-z_"],
  ["xdigit", "0-9A-Fa-f"]
])

/** Rust's spelling → JavaScript's, where both engines have the construct. */
const translate = (pattern: string): string =>
  pattern
    .replaceAll(/\[:(\w+):\]/g, (whole, name: string) => posixClasses.get(name) ?? whole)
    .replaceAll(/\(\?P<(\w+)>/g, "(?<$1>")
    .replaceAll(/\(\?P=(\w+)\)/g, "\\k<$1>")
    .replaceAll(/\\(.)/gs, (whole, char: string) =>
      char === "A" ? "^" : char === "z" ? "$" : char === "h" ? "[0-9A-Fa-f]" : char === "a" ? "\\x07" : whole
    )

const notRegular = (pattern: string): string => `${JSON.stringify(pattern)} is not a valid regular expression`

const leadingFlags = /^\(\?([a-z]+)\)/

/**
 * A header or path pattern as the agent compiles it: case-insensitive and searched anywhere (upstream puts `(?i)` in
 * front; wire.md §3.4). Leading inline flags `i`, `m`, `s`, `u` are honoured.
 *
 * Patterns are written for Rust's `fancy-regex`. Constructs without an equal in JavaScript (flag `x`, atomic groups,
 * possessive quantifiers, flags in the middle) are refused like invalid patterns, never matched differently.
 */
export const compilePattern = (pattern: string): Result.Result<RegExp, string> => {
  let rest = pattern
  const flags = new Set(["i"])
  for (let found = leadingFlags.exec(rest); found !== null; found = leadingFlags.exec(rest)) {
    for (const flag of found[1] ?? "") {
      if (!"imsu".includes(flag)) return Result.fail(`flag ${flag} is not supported in ${JSON.stringify(pattern)}`)
      if (flag !== "u") flags.add(flag)
    }
    rest = rest.slice(found[0].length)
  }
  const source = translate(rest)
  try {
    return Result.succeed(new RegExp(source, `${[...flags].join("")}u`))
  } catch {
    // Unicode mode refuses harmless escapes that Rust accepts, such as `\-` and `\ `. Without Unicode mode `\p` and
    // `\x{…}` mean something else, so patterns with them stay refused.
    if (/\\[pPxu]\{?/.test(source)) return Result.fail(notRegular(pattern))
  }
  try {
    return Result.succeed(new RegExp(source, [...flags].join("")))
  } catch (error) {
    return Result.fail(error instanceof Error ? error.message : notRegular(pattern))
  }
}

const methodOf = (filter: HttpMethodFilter): string =>
  (filter._tag === "Other" ? filter.value : filter._tag).toUpperCase()

/** Path and path with query of a request target in origin or absolute form. */
const pathsOf = (uri: string): readonly [path: string, pathAndQuery: string] => {
  const origin = uri.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "") || "/"
  const query = origin.indexOf("?")
  return [query < 0 ? origin : origin.slice(0, query), origin]
}

/**
 * Compiles a filter once, at subscription (agent.md §6.6). The failure is a sentence for `Close`: for invalid patterns,
 * and for filters by body or jq, which the reference agent does not evaluate.
 */
export const compileFilter = (filter: HttpFilter): Result.Result<RequestMatcher, string> => {
  switch (filter._tag) {
    case "Header":
      return Result.map(
        compilePattern(filter.value),
        (pattern) =>
          ({ headers }) =>
            headers.some(([name, value]) => pattern.test(`${name}: ${headerText(value)}`))
      )
    case "Path":
      return Result.map(
        compilePattern(filter.value),
        (pattern) =>
          ({ uri }) =>
            pathsOf(uri).some((text) => pattern.test(text))
      )
    case "Method": {
      const wanted = methodOf(filter.value)
      return Result.succeed(({ method }) => method.toUpperCase() === wanted)
    }
    case "Composite": {
      const matchers: Array<RequestMatcher> = []
      for (const inner of filter.filters) {
        const compiled = compileFilter(inner)
        if (Result.isFailure(compiled)) return compiled
        matchers.push(compiled.success)
      }
      return Result.succeed((request) =>
        filter.all ? matchers.every((matches) => matches(request)) : matchers.some((matches) => matches(request))
      )
    }
    case "Body":
      return Result.fail("HTTP filters by body are not supported by this agent; filter by header, path or method")
    case "HeaderJq":
      return Result.fail("HTTP filters by jq program are not supported by this agent; filter by header, path or method")
  }
}

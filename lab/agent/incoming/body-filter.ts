/**
 * Compiles filters by the body of a request, which the real agent leaves to `serde_json_path` and so to RFC 9535. A
 * body arrives here whole; it is collected in `request-body.ts`.
 */

import { Result } from "effect"
import { jsonpath } from "json-p3"
import type { HttpBodyFilter } from "../../../src/domain/protocol/http-filter-messages.ts"
import { compilePattern } from "./filter-pattern.ts"

// serde_json knows no byte order mark either.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** JSON without spaces, with the keys of objects in their order, as the real agent writes it. */
const jsonText = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`
  if (value === null || typeof value !== "object") return JSON.stringify(value)
  const entries = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${jsonText(inner)}`)
  return `{${entries.sort().join(",")}}`
}

/** The failure is a sentence. */
const compileQuery = (query: string) => {
  try {
    return Result.succeed(jsonpath.compile(query))
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it cannot be read"
    return Result.fail(`${JSON.stringify(query)} is not a valid JSONPath query: ${reason}`)
  }
}

/**
 * Whether any value that `query` finds in a JSON body matches the regular expression `matches`: texts as they are, all
 * other values as {@link jsonText}. Unlike patterns for headers and paths, this pattern heeds upper and lower case.
 *
 * Numbers are JavaScript's: `1.0` has the text `1`, which the real agent spells `1.0`.
 */
export const compileBodyFilter = (filter: HttpBodyFilter): Result.Result<(body: Uint8Array) => boolean, string> => {
  const query = compileQuery(filter.query)
  if (Result.isFailure(query)) return Result.fail(query.failure)
  return Result.map(compilePattern(filter.matches, "exact"), (pattern) => (body) => {
    try {
      const found = query.success.query(JSON.parse(utf8.decode(body))).values()
      return found.some((value) => pattern.test(typeof value === "string" ? value : jsonText(value)))
    } catch {
      // It is no JSON, or too deep to be searched.
      return false
    }
  })
}

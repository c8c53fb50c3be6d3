/**
 * Compiles HTTP filters of subscriptions into functions: by header, path and method. Filters by body or by a jq program
 * are refused; mirrord's own agent has them. Regular expressions are translated in `filter-pattern.ts`.
 */

import { Result } from "effect"
import type { HttpFilter, HttpMethodFilter } from "../../../src/domain/protocol/http-filter-messages.ts"
import type { Headers } from "../../../src/domain/protocol/shape.ts"
import { compilePattern } from "./filter-pattern.ts"

/** The part of an HTTP request that filters look at. */
export interface RequestHead {
  readonly method: string
  /** Origin form (`/path?query`) or absolute form. */
  readonly uri: string
  readonly headers: Headers
}

/** Whether a request matches. */
export type RequestMatcher = (request: RequestHead) => boolean

const ascii = new TextDecoder()

/** The values that filters see: tabs and what ASCII can print. The real agent skips headers with others. */
const isReadable = (value: Uint8Array): boolean => value.every((byte) => byte === 9 || (byte >= 32 && byte < 127))

const headerLines = (headers: Headers): ReadonlyArray<string> =>
  headers.flatMap(([name, value]) => (isReadable(value) ? `${name}: ${ascii.decode(value)}` : []))

const methodOf = (filter: HttpMethodFilter): string =>
  (filter._tag === "Other" ? filter.value : filter._tag).toUpperCase()

/** Path and path with query of a request target in origin or absolute form. */
const pathsOf = (uri: string): readonly [path: string, pathAndQuery: string] => {
  const origin = uri.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "") || "/"
  const query = origin.indexOf("?")
  return [query < 0 ? origin : origin.slice(0, query), origin]
}

/**
 * Compiles a filter once, at subscription (agent.md §6.6). The failure is a sentence for `Close`.
 */
export const compileFilter = (filter: HttpFilter): Result.Result<RequestMatcher, string> => {
  switch (filter._tag) {
    case "Header":
      return Result.map(
        compilePattern(filter.value),
        (pattern) =>
          ({ headers }) =>
            headerLines(headers).some((line) => pattern.test(line))
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
    case "HeaderJq":
      return Result.fail(`the reference agent has no filters of the kind ${filter._tag}`)
  }
}

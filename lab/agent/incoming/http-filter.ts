/** Compiles HTTP filters of subscriptions into functions. Regular expressions are translated in `filter-pattern.ts`. */

import { Result } from "effect"
import type { HttpFilter, HttpMethodFilter } from "../../../src/domain/protocol/http-filter-messages.ts"
import type { Headers } from "../../../src/domain/protocol/shape.ts"
import { compileBodyFilter } from "./body-filter.ts"
import { compilePattern } from "./filter-pattern.ts"
import { compileJqFilter } from "./jq-filter.ts"

/** The part of an HTTP request that filters look at. */
export interface RequestHead {
  readonly method: string
  /** Origin form (`/path?query`) or absolute form. */
  readonly uri: string
  readonly headers: Headers
  /** The whole body; undefined until it is known, or if it is too large or too slow to be waited for. */
  readonly body?: Uint8Array | undefined
}

/** Whether a request matches. */
export interface RequestMatcher {
  (request: RequestHead): boolean
  /** Whether the filter looks at bodies. */
  readonly needsBody?: boolean
}

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
        compilePattern(filter.value, "anyCase"),
        (pattern) =>
          ({ headers }) =>
            headerLines(headers).some((line) => pattern.test(line))
      )
    case "Path":
      return Result.map(
        compilePattern(filter.value, "anyCase"),
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
      const composite: RequestMatcher = (request) =>
        filter.all ? matchers.every((matches) => matches(request)) : matchers.some((matches) => matches(request))
      return Result.succeed(Object.assign(composite, { needsBody: matchers.some(({ needsBody }) => needsBody) }))
    }
    case "Body":
      return Result.map(compileBodyFilter(filter.value), (matches) =>
        Object.assign(({ body }: RequestHead) => body !== undefined && matches(body), { needsBody: true })
      )
    case "HeaderJq":
      return Result.map(
        compileJqFilter(filter.value),
        (matches) =>
          ({ headers }) =>
            matches(headerLines(headers))
      )
  }
}

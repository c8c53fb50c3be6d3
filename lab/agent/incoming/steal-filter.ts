/** Reads port and filter out of subscription messages, old and new forms. Matching is in `http-filter.ts`. */

import * as Result from "effect/Result"
import type { HttpFilter, StealType } from "../../../src/domain/protocol/http-filter-messages.ts"
import { compileFilter, type RequestMatcher } from "./http-filter.ts"

/** Port and filter of a steal subscription; the old form is a header filter. */
export const stealFilter = (type: StealType): { readonly port: number; readonly filter: HttpFilter | undefined } => {
  switch (type._tag) {
    case "All":
      return { port: type.value, filter: undefined }
    case "FilteredHttp":
      return { port: type.port, filter: { _tag: "Header", value: type.filter } }
    case "FilteredHttpEx":
      return { port: type.port, filter: type.filter }
  }
}

/** The filter of a subscription as a function, if it has a filter. The failure says what is wrong with it. */
export const subscriptionMatcher = (
  filter: HttpFilter | undefined
): Result.Result<RequestMatcher | undefined, string> =>
  filter === undefined ? Result.succeed(undefined) : compileFilter(filter)

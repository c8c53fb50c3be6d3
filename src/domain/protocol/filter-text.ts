/**
 * HTTP filters in words for people, as mirrord itself writes them: `header=x-user: ann`, `any of (path=/a),
 * (method=GET)`. Agents evaluate filters; nothing here does.
 */

import { cleanText, textLimits } from "../clean-text.ts"
import type { HttpFilter, HttpMethodFilter, StealType } from "./http-filter-messages.ts"

const longest = textLimits.quotation

const methodText = (method: HttpMethodFilter): string =>
  method._tag === "Other" ? method.value : method._tag.toUpperCase()

/** Filters in a row, no more than are shown: a client may send millions. */
const rowText = (filters: ReadonlyArray<HttpFilter>): string => {
  let text = ""
  for (const filter of filters) {
    if (text.length > longest) break
    text += `${text === "" ? "" : ", "}(${textOf(filter)})`
  }
  return text
}

const textOf = (filter: HttpFilter): string => {
  switch (filter._tag) {
    case "Header":
      return `header=${filter.value}`
    case "Path":
      return `path=${filter.value}`
    case "Method":
      return `method=${methodText(filter.value)}`
    case "Body":
      return "body=Json"
    case "HeaderJq":
      return `header_jq=${filter.value}`
    case "Composite":
      return `${filter.all ? "all" : "any"} of ${rowText(filter.filters)}`
  }
}

/** The filter of a subscription to steal, clean and short; `undefined` if the port is stolen whole. */
export const filterText = (steal: StealType): string | undefined => {
  switch (steal._tag) {
    case "All":
      return undefined
    case "FilteredHttp":
      return cleanText(`header=${steal.filter}`, longest)
    case "FilteredHttpEx":
      return cleanText(textOf(steal.filter), longest)
  }
}

/** Words for a request that has no usable answer. Not here: whole sentences and fixes, which each check has. */

import type { Answer } from "./cluster-facts.ts"

/** Why a request has no usable answer, for the inside of a sentence. */
export const refusalText = (answer: Exclude<Answer<unknown>, { readonly _tag: "Answered" }>): string => {
  switch (answer._tag) {
    case "Refused":
      return `HTTP ${answer.code}: ${answer.detail}`
    case "NoAnswer":
      return answer.detail
    case "NotAsked":
      return "it was not asked"
  }
}

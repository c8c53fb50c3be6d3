/**
 * Reads a time span as people write it: `90s`, `5m`, `1h30m`.
 *
 * Not here: writing one (credentials/validity.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../../clean-text.ts"

const span = /^(?:(\d{1,5})d)?(?:(\d{1,7})h)?(?:(\d{1,7})m)?(?:(\d{1,7})s)?$/u

/** The span in whole seconds, at least one; or what was found, and what would be right. */
export const parseSince = (text: string): Result.Result<number, { readonly message: string; readonly fix: string }> => {
  const [, days = "0", hours = "0", minutes = "0", seconds = "0"] = span.exec(text) ?? []
  const sum = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)
  return sum >= 1
    ? Result.succeed(sum)
    : Result.fail({
        message: `--since: found ${quoted(text)}, which is no time span.`,
        fix: "Give numbers with units, the largest first, such as 90s, 5m, 1h30m or 2d."
      })
}

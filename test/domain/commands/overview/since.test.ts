import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { parseSince } from "../../../../src/domain/commands/overview/since.ts"

describe("a time span as people write it", () => {
  it.each([
    ["90s", 90],
    ["5m", 300],
    ["1h30m", 5_400],
    ["2d", 172_800]
  ])("%s", (text, expected) => expect(parseSince(text)).toEqual(Result.succeed(expected)))

  it.each(["", "5", "5x", "-5m", "0s", "1.5h", "m", "5 m", "5m1h", "12345678s"])(
    "refuses %j and says what would be right",
    (text) => {
      expect(parseSince(text)).toEqual(
        Result.fail({
          message: `--since: found ${JSON.stringify(text)}, which is no time span.`,
          fix: "Give numbers with units, the largest first, such as 90s, 5m, 1h30m or 2d."
        })
      )
    }
  )
})

import { Effect } from "effect"
import { expect, it } from "vitest"
import { LogOnce } from "../../../src/app/kernel/log-once.ts"

it("says what is news, again after something else, and again after all was well", () => {
  const said: Array<string> = []
  const once = new LogOnce()
  const tell = (news: string) =>
    Effect.runSync(
      once.tell(
        news,
        Effect.sync(() => void said.push(news))
      )
    )
  tell("away")
  tell("away")
  expect(said).toEqual(["away"])
  tell("refused")
  tell("away")
  once.reset()
  tell("away")
  expect(said).toEqual(["away", "refused", "away", "away"])
})

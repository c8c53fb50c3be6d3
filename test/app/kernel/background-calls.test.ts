import { Deferred, Effect } from "effect"
import { expect } from "vitest"
import { type CallEnd, makeBackgroundCalls } from "../../../src/app/kernel/background-calls.ts"
import { it } from "../../support/effect-it.ts"
import { turns } from "../../support/turns.ts"

const atRest = Effect.promise(() => turns())

it.effect(
  "of calls about one thing one runs at a time, and what was asked for meanwhile is planned again",
  function* () {
    const calls = yield* makeBackgroundCalls
    const log: Array<string> = []
    const begin = (key: string, name: string) => {
      const end = Deferred.makeUnsafe<CallEnd>()
      const call = Effect.andThen(
        Effect.sync(() => void log.push(name)),
        Deferred.await(end)
      )
      calls.begin(key, call, () => void log.push(`${key} again`))
      return (how: CallEnd) => Effect.andThen(Deferred.succeed(end, how), atRest)
    }
    const first = begin("a", "first")
    begin("a", "second")
    const other = begin("b", "other")
    yield* atRest
    expect([log, calls.underWay()]).toEqual([["first", "other"], 2])
    yield* first("Done")
    yield* other("Done")
    expect([log.slice(2), calls.underWay()]).toEqual([["a again"], 0])
    yield* begin("b", "third")("PlanAgain")
    expect(log.slice(3)).toEqual(["third", "b again"])
  }
)

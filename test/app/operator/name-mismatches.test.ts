import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "vitest"
import { CurrentRepeatedLines, RepeatedLines } from "../../../src/app/kernel/repeated-lines.ts"
import { NameMismatches } from "../../../src/app/operator/name-mismatches.ts"
import { lineBurst } from "../../../src/domain/line-allowance.ts"
import { it } from "../../support/effect-it.ts"

const owner = { userId: "key", username: "ann", hostname: "laptop", k8sUsername: "ann" }

it.effect("lines about users with others' certificates are summed when there are many, and none comes again", () => {
  const counts: Array<unknown> = []
  const logger = Logger.map(Logger.formatStructured, ({ annotations }) => void counts.push(annotations["count"]))
  const names = new NameMismatches()
  const compareMany = Effect.forEach(
    Array.from({ length: lineBurst + 10 }, (_, at) => at),
    (at) => names.compare("mc-00000000000000ff", owner, { ...owner, k8sUsername: `role/ann-${at}` })
  )
  return Effect.gen(function* () {
    for (let i = 0; i < 2; i++) {
      yield* compareMany
      yield* TestClock.adjust("5 seconds")
    }
    assert.deepStrictEqual(counts, [...Array.from({ length: lineBurst }, () => undefined), 10])
  }).pipe(Effect.provideService(CurrentRepeatedLines, new RepeatedLines()), Effect.provide(Logger.layer([logger])))
})

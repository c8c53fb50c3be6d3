import { Clock, Effect, Layer } from "effect"
import { describe, expect } from "vitest"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { propertySeed } from "../../support/property-seed.ts"
import { virtualTime } from "../../support/virtual-time.ts"
import {
  begin,
  clusterWith,
  end,
  leftOf,
  makeSession,
  operate,
  OperatorProcess,
  put,
  sessionName,
  wanted
} from "./split-life.ts"

/** When the session ends, and when the last message is put, ms. */
const endsAt = 40_000
const lastAt = 90_000
/** Messages that one process may have sent and not deleted: a batch of its forwarder and one of its drain. */
const maxTwice = 20

interface Times {
  ready: number
  end: number
}

/** The mistakes in the reads of messages, which were put each 100 ms for the session and for others in turn. */
const wrongReads = (read: SplitRead, { end: endedAt, ready }: Times) => {
  const wrong: Array<string> = []
  let twice = 0
  for (let at = 2_000; at < lastAt; at += 100) {
    const to = at % 200 === 0 ? "ann" : "bob"
    const found = read.filter(({ body }) => body === `${to} ${at}`)
    if (found.length === 0) wrong.push(`${to} ${at} was not read`)
    twice += Math.max(0, found.length - 1)
    for (const { at: readAt, by } of found) {
      const isOther = to === "bob" && by === sessionName
      const isStolen = to === "ann" && by !== sessionName && at >= ready + 2_000 && readAt < endedAt
      if (isOther || isStolen) wrong.push(`${to} ${at} was read by ${by} at ${readAt}`)
    }
  }
  if (twice > maxTwice) wrong.push(`${twice} messages were read twice`)
  return wrong
}
type SplitRead = ReturnType<typeof clusterWith>["read"]

/**
 * One life of a split, from the beginning of time, whose first operator dies at a call. Gives its calls, and all that
 * went wrong.
 */
const live = Effect.fnUntraced(
  function* (diesAt: number, loses: "request" | "answer") {
    const cluster = clusterWith({ seed: `${diesAt} ${loses}` })
    const clock = yield* Clock.Clock
    const now = () => clock.currentTimeMillisUnsafe()
    const first = new OperatorProcess(diesAt, loses)
    const times: Times = { ready: Infinity, end: Infinity }
    yield* begin(cluster)
    let { process, splits } = yield* operate(cluster, { process: first })
    yield* Effect.forkScoped(
      Effect.gen(function* () {
        for (; now() < lastAt; yield* Effect.sleep(100)) {
          const to = now() % 200 === 0 ? "ann" : "bob"
          put(cluster, `${to} ${now()}`, to, now())
        }
      })
    )
    const session = makeSession(cluster, sessionName, now())
    const isClean = () => leftOf(cluster).length === 0 && cluster.sqs.bodies.length === 0
    let [isOrdered, orderedAt, diedAt] = [false, -Infinity, Infinity]
    while (now() < 600_000 && !(now() > lastAt + 20_000 && isClean())) {
      if (!isOrdered && now() < endsAt && now() > orderedAt + 5_000) {
        orderedAt = now()
        yield* Effect.forkScoped(
          Effect.tap(splits.order(session, wanted("^ann$")), () => Effect.sync(() => (isOrdered = true)))
        )
      }
      if (isOrdered && times.ready === Infinity && now() < endsAt && splits.requirement(session)._tag === "Met") {
        times.ready = now()
        cluster.programs.set(sessionName, [splits.variables(sessionName).get("ORDERS") ?? ""])
      }
      if (times.end === Infinity && now() >= endsAt) {
        end(cluster)
        times.end = now()
      }
      diedAt = first.isDead ? Math.min(diedAt, now()) : diedAt
      if (process === first && now() >= diedAt + 15_000 + (diesAt % 6) * 1_000) {
        const next = yield* operate(cluster)
        ;({ process, splits } = next)
      }
      yield* pass(now() < lastAt ? "500 millis" : "10 seconds")
    }
    const wrong = [
      ...wrongReads(cluster.read, times),
      ...leftOf(cluster),
      ...cluster.sqs.lost,
      ...cluster.values("consumer").filter((value) => value !== "orders")
    ]
    return { calls: first.calls, wrong, times }
  },
  Effect.scoped,
  Effect.provide(Layer.fresh(virtualTime))
)

/** Calls that move messages, of which there are always more. */
const moves = new Set(["receive", "send", "delete messages"])
/** Cases of one run are a stride apart; another seed takes others. */
const stride = 32

describe("an operator that is killed in the life of a split", () => {
  it.effect("costs no message, and leaves nothing behind, at whichever call", function* () {
    const whole = yield* live(Infinity, "request")
    expect(whole.wrong).toEqual([])
    expect(whole.times.ready).toBeLessThan(10_000)
    const read = whole.calls.flatMap((name, index) => (moves.has(name) && index % 61 !== 0 ? [] : [index + 1]))
    const cases = read.flatMap((diesAt) => [[diesAt, "request"] as const, [diesAt, "answer"] as const])
    expect(cases.length).toBeGreaterThan(300)
    const offset = Math.abs(propertySeed()) % stride
    for (const [index, [diesAt, loses]] of cases.entries()) {
      if (index % stride !== offset) continue
      const { calls, wrong } = yield* live(diesAt, loses)
      expect([diesAt, loses, calls.at(-1), wrong]).toEqual([diesAt, loses, calls.at(-1), []])
    }
  })
})

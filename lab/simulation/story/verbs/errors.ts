/** `errors a conflict for 3 calls`: calls of operators to one cluster go wrong, for a time or a number of calls. */

import { Result } from "effect"
import { type CallFault, errorKinds, type FaultPlan } from "../../world/call-faults.ts"
import { callKinds, isOfKind, type CallKind } from "../call-kind.ts"
import { aDuration } from "../draws.ts"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { duration, exactly, nameWord, oneOf, wholeNumber } from "../words.ts"

/** The faults of a sweep, and a refusal that does not pass by itself. */
const faults: Readonly<Record<string, CallFault>> = {
  ...errorKinds,
  forbidden: { _tag: "Fail", when: "before", reason: "Forbidden", code: 403 }
}
const kinds = Object.keys(faults)
const callVerbs = ["get", "list", "watch", "create", "patch", "delete", "link", "dial"] as const

const percentage = (word: string): Result.Result<number, string> =>
  /^(100|[1-9]?\d)%$/.test(word)
    ? Result.succeed(Number(word.slice(0, -1)) / 100)
    : Result.fail(`${JSON.stringify(word)} is no percentage: write 30%`)

export const errors: Verb = {
  name: "errors",
  usage: "errors <cluster> <kind> for <duration>|<n> calls [<p>%] [from <cluster>] [on <verb>] [of tokens|secrets]",
  summary: `What operators ask of a cluster fails: ${kinds.join(", ")}.`,
  kind: "act",
  read: ([first, second, third, limit, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const fault = faults[yield* oneOf(second, kinds)]
      yield* exactly(third, "for")
      const left = [...rest]
      const isCount = left[0] === "calls"
      if (isCount) left.shift()
      const amount = yield* isCount ? wholeNumber(limit, "a number of calls") : duration(limit)
      let probability = 1
      let from: string | undefined
      let verb: (typeof callVerbs)[number] | undefined
      let kind: CallKind | undefined
      for (let word = left.shift(); word !== undefined; word = left.shift()) {
        if (word === "from") from = yield* nameWord(left.shift(), "a cluster's name")
        else if (word === "on") verb = yield* oneOf(left.shift(), callVerbs)
        else if (word === "of") kind = yield* oneOf(left.shift(), callKinds)
        else probability = yield* percentage(word)
      }
      return (run) =>
        withCluster(run, cluster, () => {
          const { world } = run
          const random = world.kernel.random.split(`errors ${world.faultPlans.length} at ${world.now}`)
          const until = isCount ? Infinity : world.now + amount
          let calls = isCount ? amount : Infinity
          run.fault(`call ${second}`, `calls to ${cluster} go wrong: ${second}`)
          const isOver = (): boolean => world.now >= until || calls <= 0
          const plan: FaultPlan = (call) => {
            if (call.to !== cluster || isOver() || !isOfKind(call, kind)) return undefined
            if ((from !== undefined && call.operator !== from) || (verb !== undefined && call.verb !== verb))
              return undefined
            if (probability < 1 && !random.chance(probability)) return undefined
            calls--
            return fault
          }
          world.faultPlans.push(Object.assign(plan, { isOver }))
        })
    }),
  random: {
    weight: 5,
    line: (draw) => {
      const { places, random } = draw
      const limit = random.chance(0.5) ? `${random.int(1, 6)} calls` : aDuration(draw)
      return `errors ${random.pick(places)} ${random.pick(kinds)} for ${limit}${random.chance(0.5) ? " 40%" : ""}`
    }
  }
}

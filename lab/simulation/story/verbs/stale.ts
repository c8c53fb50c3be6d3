/** `stale a 3 for 12s`: lists of a cluster answer from an old state. */

import { Result } from "effect"
import type { FaultPlan } from "../../world/call-faults.ts"
import { aDuration } from "../draws.ts"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { duration, exactly, nameWord, nothingMore, wholeNumber } from "../words.ts"

export const stale: Verb = {
  name: "stale",
  usage: "stale <cluster> <writes> [for <duration>]",
  summary: "Lists of a cluster answer as things were so many writes ago; for a time, or until healed.",
  kind: "act",
  read: ([first, second, third, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const by = yield* wholeNumber(second, "a number of writes")
      let time = Infinity
      if (third !== undefined) {
        yield* exactly(third, "for")
        time = yield* duration(rest[0])
        yield* nothingMore(rest.slice(1))
      }
      return (run) =>
        withCluster(run, cluster, () => {
          const { world } = run
          const until = world.now + time
          run.fault("stale lists", `lists of ${cluster} are ${by} writes old`)
          const isOver = (): boolean => world.now >= until
          const plan: FaultPlan = (call) =>
            call.to === cluster && call.verb === "list" && !isOver() ? { _tag: "Stale", by } : undefined
          world.faultPlans.push(Object.assign(plan, { isOver }))
        })
    }),
  random: {
    weight: 2,
    line: (draw) => `stale ${draw.random.pick(draw.places)} ${draw.random.pick([1, 3, 10])} for ${aDuration(draw)}`
  }
}

/**
 * `crash operator a at call +3 before`: kills an operator, now or around one of its next calls, or an agent. The
 * kubelet starts an operator again; `leave operator` removes it for ever.
 */

import { Result } from "effect"
import type { FaultPlan } from "../../world/call-faults.ts"
import type { PortCall } from "../../world/world-event.ts"
import { callKinds, isOfKind } from "../call-kind.ts"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, nothingMore, oneOf, wholeNumber } from "../words.ts"

/** Reads `+3`: the third call from now on. */
const callsAhead = (word: string | undefined): Result.Result<number, string> =>
  Result.flatMap(wholeNumber(word?.replace(/^\+/, ""), "a number of calls"), (n) =>
    word?.startsWith("+") === true && n > 0
      ? Result.succeed(n)
      : Result.fail(`${JSON.stringify(word ?? "")} is no call: write +1 for the next one`)
  )

export const crash: Verb = {
  name: "crash",
  usage: "crash operator <cluster> [at call +<n> before|after [of tokens|secrets]] | crash agent <cluster>",
  summary:
    "An operator dies as by SIGKILL and is started again after 3 s: now, or around its n-th call from now on, of all " +
    "or of those that ask for tokens or write Secrets; or " +
    "one agent of a cluster dies.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const what = yield* oneOf(first, ["operator", "agent"])
      const cluster = yield* nameWord(second, "a cluster's name")
      if (what === "agent") {
        yield* nothingMore(rest)
        return (run) =>
          withCluster(run, cluster, ({ kubelet }) => {
            const agent = run.world.kernel.random.split(`crash agent at ${run.world.now}`).pick(kubelet.agents)
            if (agent === undefined) return nothingHappens(run, `no agent runs in ${cluster}`)
            run.fault("agent crash", `agent ${agent.name} of ${cluster} dies`)
            kubelet.crashAgent(agent.name)
          })
      }
      if (rest.length === 0) {
        return (run) =>
          withCluster(run, cluster, ({ host }) => {
            if (host.processes.length === 0) return nothingHappens(run, `no operator runs in ${cluster}`)
            run.fault("operator crash", `the operator of ${cluster} dies`)
            host.crash("killed")
          })
      }
      yield* exactly(rest[0], "at")
      yield* exactly(rest[1], "call")
      const ahead = yield* callsAhead(rest[2])
      const when = yield* oneOf(rest[3], ["before", "after"])
      if (rest[4] !== undefined) yield* exactly(rest[4], "of")
      const kind = rest[4] === undefined ? undefined : yield* oneOf(rest[5], callKinds)
      yield* nothingMore(rest.slice(kind === undefined ? 4 : 6))
      return (run) =>
        withCluster(run, cluster, ({ host }) => {
          const index = host.calls + ahead - 1
          const which = kind === undefined ? `call ${index}` : `call ${ahead} of ${kind}`
          run.fault("operator crash", `the operator of ${cluster} will die ${when} ${which}`)
          let left = ahead
          const isMeant: (call: PortCall) => boolean =
            kind === undefined
              ? (call) => call.operator === cluster && call.index === index
              : (call) => call.operator === cluster && isOfKind(call, kind) && --left === 0
          const plan: FaultPlan = (call) => (isMeant(call) ? { _tag: "Crash", when } : undefined)
          // Nothing is wrong until the crash, and the crash is seen by everybody.
          run.world.faultPlans.push(Object.assign(plan, { isOver: () => true }))
        })
    }),
  random: {
    weight: 6,
    line: ({ clusters, places, random }) => {
      if (random.chance(0.3)) return `crash agent ${random.pick(clusters)}`
      const operator = `crash operator ${random.pick(places)}`
      return random.chance(0.4)
        ? operator
        : `${operator} at call +${random.int(1, 12)} ${random.pick(["before", "after"])}`
    }
  }
}

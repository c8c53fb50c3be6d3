/** Verbs of clusters' API servers: downtime, calls that go wrong, watches and lists. */

import { Result } from "effect"
import { type CallFault, errorKinds, type FaultPlan } from "../../world/call-faults.ts"
import { callKinds, isOfKind } from "../call-kind.ts"
import { aDuration } from "../draws.ts"
import { after, cases, choice, number, optional, options, type Part, time, oneWord } from "../parts.ts"
import { cluster, clusterName } from "../things.ts"
import { act, type Verb } from "../verb.ts"
import { duration, wholeNumber } from "../words.ts"

/** The faults of a sweep, and a refusal that does not pass by itself. */
const faults: Readonly<Record<string, CallFault>> = {
  ...errorKinds,
  forbidden: { _tag: "Fail", when: "before", reason: "Forbidden", code: 403 }
}
const kinds = Object.keys(faults)
const callVerbs = ["get", "list", "watch", "create", "patch", "delete", "link", "dial"] as const

const percentage = oneWord("<p>%", (said) =>
  /^(100|[1-9]?\d)%$/.test(said ?? "")
    ? Result.succeed(Number(said?.slice(0, -1)) / 100)
    : Result.fail(`${JSON.stringify(said ?? "")} is no percentage: write 30%`)
)

/** How long calls go wrong, ms, or how many. */
const limit: Part<{ readonly ms: number; readonly calls: number }> = {
  usage: "<duration>|<n> calls",
  read: (left) => {
    const said = left.shift()
    if (left[0] !== "calls") return Result.map(duration(said), (ms) => ({ ms, calls: Infinity }))
    left.shift()
    return Result.map(wholeNumber(said, "a number of calls"), (calls) => ({ ms: Infinity, calls }))
  }
}

const late = { ms: time }
/** How late events are in random stories, ms. */
const delays = [50, 400, 2_500]
const watchDeeds = ["drop", "restore", "end", "forget", "bookmark", "delay", "reorder"] as const

export const apiServerVerbs: ReadonlyArray<Verb> = [
  act({
    name: "stop",
    words: { cluster: after("server", cluster) },
    summary: "A cluster's API server goes down: connections are refused, watches break.",
    run: ({ cluster: { name, server } }, run) => {
      if (server.isDown) return `the API server of ${name} is down`
      run.fault("server down", `the API server of ${name} goes down`)
      server.stop()
    },
    random: { weight: 3, line: ({ places, random }) => `stop server ${random.pick(places)}` }
  }),
  act({
    name: "restart",
    words: { cluster: after("server", cluster) },
    summary: "A cluster's API server is up again.",
    run: ({ cluster: { name, server } }) => (server.isDown ? server.start() : `the API server of ${name} is up`),
    random: { weight: 3, line: ({ places, random }) => `restart server ${random.pick(places)}` }
  }),
  act({
    name: "errors",
    words: {
      cluster,
      kind: choice(kinds),
      limit: after("for", limit),
      more: options({ from: clusterName, on: choice(callVerbs), of: choice(callKinds) }, { share: percentage })
    },
    summary: `What operators ask of a cluster fails: ${kinds.join(", ")}.`,
    run: ({ cluster: { name }, kind, limit: { calls, ms }, more: { from, of, on, share = 1 } }, run) => {
      const { world } = run
      const random = world.kernel.random.split(`errors ${world.faultPlans.length} at ${world.now}`)
      const until = world.now + ms
      let left = calls
      run.fault(`call ${kind}`, `calls to ${name} go wrong: ${kind}`)
      const isOver = (): boolean => world.now >= until || left <= 0
      const plan: FaultPlan = (call) => {
        if (call.to !== name || isOver() || !isOfKind(call, of)) return undefined
        if ((from !== undefined && call.operator !== from) || (on !== undefined && call.verb !== on)) return undefined
        if (share < 1 && !random.chance(share)) return undefined
        left--
        return faults[kind]
      }
      world.faultPlans.push(Object.assign(plan, { isOver }))
    },
    random: {
      weight: 5,
      line: (draw) => {
        const { places, random } = draw
        const limit = random.chance(0.5) ? `${random.int(1, 6)} calls` : aDuration(draw)
        return `errors ${random.pick(places)} ${random.pick(kinds)} for ${limit}${random.chance(0.5) ? " 40%" : ""}`
      }
    }
  }),
  act({
    name: "watch",
    words: {
      cluster,
      deed: cases({ drop: {}, restore: {}, end: {}, forget: {}, bookmark: {}, delay: late, reorder: late })
    },
    summary:
      "What a cluster's watches suffer: events are lost until restored, late, or overtake those of other objects; " +
      "all end; history is forgotten (410); a bookmark comes.",
    run: ({ cluster: { name, server }, deed }, run) => {
      const { objects } = server
      switch (deed.is) {
        case "delay":
        case "reorder": {
          const each = deed.is === "delay" ? "" : ", each object's events by a time of its own up to that"
          run.fault(`${deed.is}ed watches`, `watches of ${name} are ${deed.ms} ms late${each}`)
          return server.delayWatches(deed.ms, deed.is === "reorder")
        }
        case "drop":
          run.fault("lost events", `watches of ${name} lose what happens`)
          return objects.setMuted(true)
        case "restore":
          return objects.setMuted(false)
        case "end":
          run.fault("ended watches", `all watches of ${name} end`)
          return objects.endWatches()
        case "forget":
          run.fault("forgotten history", `${name} forgets its history: watches are told 410`)
          return objects.forgetHistory(true)
        case "bookmark":
          return objects.bookmark()
      }
    },
    random: {
      weight: 3,
      line: ({ places, random }) => {
        const deed = random.pick(watchDeeds)
        const place = random.pick(places)
        return `watch ${place} ${deed}${deed === "delay" || deed === "reorder" ? ` ${random.pick(delays)}ms` : ""}`
      }
    }
  }),
  act({
    name: "stale",
    words: { cluster, by: number("<writes>", "a number of writes"), ms: optional(after("for", time)) },
    summary: "Lists of a cluster answer as things were so many writes ago; for a time, or until healed.",
    run: ({ by, cluster: { name }, ms = Infinity }, run) => {
      const { world } = run
      const until = world.now + ms
      run.fault("stale lists", `lists of ${name} are ${by} writes old`)
      const isOver = (): boolean => world.now >= until
      const plan: FaultPlan = (call) =>
        call.to === name && call.verb === "list" && !isOver() ? { _tag: "Stale", by } : undefined
      world.faultPlans.push(Object.assign(plan, { isOver }))
    },
    random: {
      weight: 2,
      line: (draw) => `stale ${draw.random.pick(draw.places)} ${draw.random.pick([1, 3, 10])} for ${aDuration(draw)}`
    }
  })
]

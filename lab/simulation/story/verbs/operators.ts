/** Verbs of the processes of operators and agents: crashes, pauses, replicas, clocks. */

import { Result } from "effect"
import type { SimProcess } from "../../kernel/sim-process.ts"
import type { FaultPlan } from "../../world/call-faults.ts"
import type { OperatorHost } from "../../world/operator-host.ts"
import type { PortCall } from "../../world/world-event.ts"
import type { SimCluster } from "../../world/world.ts"
import { callKinds, type CallKind, isOfKind } from "../call-kind.ts"
import { after, cases, choice, optional, sequence, time, oneWord } from "../parts.ts"
import { cluster } from "../things.ts"
import { act, type Draw, type StoryRun, type Verb } from "../verb.ts"
import { signedDuration, wholeNumber } from "../words.ts"

/** Reads `+3`: the third call from now on. */
const callsAhead = oneWord("+<n>", (said) =>
  Result.flatMap(wholeNumber(said?.replace(/^\+/, ""), "a number of calls"), (n) =>
    said?.startsWith("+") === true && n > 0
      ? Result.succeed(n)
      : Result.fail(`${JSON.stringify(said ?? "")} is no call: write +1 for the next one`)
  )
)

const atCall = after(
  "at",
  after(
    "call",
    sequence({ ahead: callsAhead, when: choice(["before", "after"]), kind: optional(after("of", choice(callKinds))) })
  )
)

/** A call at which an operator is to die. */
interface DeathCall {
  readonly ahead: number
  readonly when: "before" | "after"
  readonly kind: CallKind | undefined
}

const crashOperator = (run: StoryRun, { host, name }: SimCluster, at: DeathCall | undefined): string | void => {
  if (at === undefined) {
    if (host.processes.length === 0) return `no operator runs in ${name}`
    run.fault("operator crash", `the operator of ${name} dies`)
    return host.crash("killed")
  }
  const { ahead, kind, when } = at
  const index = host.calls + ahead - 1
  const which = kind === undefined ? `call ${index}` : `call ${ahead} of ${kind}`
  run.fault("operator crash", `the operator of ${name} will die ${when} ${which}`)
  let left = ahead
  const isMeant: (call: PortCall) => boolean =
    kind === undefined
      ? (call) => call.operator === name && call.index === index
      : (call) => call.operator === name && isOfKind(call, kind) && --left === 0
  const plan: FaultPlan = (call) => (isMeant(call) ? { _tag: "Crash", when } : undefined)
  // Nothing is wrong until the crash, and the crash is seen by everybody.
  run.world.faultPlans.push(Object.assign(plan, { isOver: () => true }))
}

const crashAgent = (run: StoryRun, { kubelet, name }: SimCluster): string | void => {
  const agent = run.world.kernel.random.split(`crash agent at ${run.world.now}`).pick(kubelet.agents)
  if (agent === undefined) return `no agent runs in ${name}`
  run.fault("agent crash", `agent ${agent.name} of ${name} dies`)
  kubelet.crashAgent(agent.name)
}

type Processes = "operator" | "agent"

/** The processes of an operator, or of all agents of a cluster. */
const processesOf = ({ host, kubelet }: SimCluster, what: Processes): ReadonlyArray<Pick<SimProcess, "state">> =>
  what === "agent" ? kubelet.agents.map(({ process }) => process) : host.processes

/** The same as what is paused and resumed: an operator as a whole. */
const pausable = (
  { host, kubelet }: SimCluster,
  what: Processes
): ReadonlyArray<Pick<SimProcess | OperatorHost, "pause" | "resume">> =>
  what === "agent" ? kubelet.agents.map(({ process }) => process) : [host]

const onProcesses = { what: choice(["operator", "agent"]), cluster }

const someProcesses =
  (verb: string) =>
  ({ clusters, places, random }: Draw): string =>
    random.chance(0.6) ? `${verb} operator ${random.pick(places)}` : `${verb} agent ${random.pick(clusters)}`

const forTime = { ms: after("for", time) }

export const operatorVerbs: ReadonlyArray<Verb> = [
  act({
    name: "crash",
    words: { what: cases({ operator: { cluster, at: optional(atCall) }, agent: { cluster } }) },
    summary:
      "An operator dies as by SIGKILL and is started again after 3 s: now, or around its n-th call from now on, of " +
      "all or of those that ask for tokens or write Secrets; or one agent of a cluster dies.",
    run: ({ what }, run) =>
      what.is === "agent" ? crashAgent(run, what.cluster) : crashOperator(run, what.cluster, what.at),
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
  }),
  act({
    name: "pause",
    words: onProcesses,
    summary: "An operator, or all agents of a cluster, stop as by SIGSTOP.",
    run: ({ cluster, what }, run) => {
      const { name } = cluster
      if (processesOf(cluster, what).every(({ state }) => state !== "running")) return `no ${what} of ${name} runs`
      run.fault(`${what} pause`, what === "agent" ? `the agents of ${name} stop` : `the operator of ${name} stops`)
      for (const process of pausable(cluster, what)) process.pause()
    },
    random: { weight: 3, line: someProcesses("pause") }
  }),
  act({
    name: "resume",
    words: onProcesses,
    summary: "An operator, or all agents of a cluster, go on.",
    run: ({ cluster, what }) => {
      if (processesOf(cluster, what).every(({ state }) => state !== "paused"))
        return `no ${what} of ${cluster.name} is paused`
      for (const process of pausable(cluster, what)) process.resume()
    },
    random: { weight: 2, line: someProcesses("resume") }
  }),
  act({
    name: "jam",
    words: { cluster: after("agent", cluster) },
    summary: "The agents of a cluster confirm no further port, and answer everything else.",
    run: ({ cluster: { kubelet, name } }, run) => {
      run.fault("jammed agents", `the agents of ${name} confirm no further port`)
      for (const { agent } of kubelet.agents) agent.jam()
    }
  }),
  act({
    name: "return",
    words: { cluster: after("operator", cluster) },
    summary: "A cluster's operator is installed again.",
    run: ({ cluster: { host, name } }) => (host.isGone ? host.comeBack() : `the operator of ${name} is not gone`),
    random: { weight: 1, line: ({ places, random }) => `return operator ${random.pick(places)}` }
  }),
  act({
    name: "leader",
    words: { cluster, what: cases({ dies: {}, stops: forTime, "is-cut": forTime }) },
    summary:
      "The replica that leads a cluster's operator dies with its node, which leaves its pod as it was for 60 s; " +
      "stops as by SIGSTOP; or loses the way to its own API server, and no other.",
    run: ({ cluster: { host, name }, what }, run) => {
      const { leader } = host
      if (!host.isElected) return `no leader is elected in ${name}`
      if (leader?.process?.state !== "running") return `nobody leads in ${name} now`
      const { network } = run.world
      const { node } = leader
      switch (what.is) {
        case "dies":
          run.fault("leader dies", `the leader of ${name} dies with its node`)
          return leader.loseNode()
        case "stops":
          run.fault("leader pause", `the leader of ${name} stops for ${what.ms} ms`)
          leader.pause()
          return run.world.faultIn(what.ms, () => leader.resume())
        case "is-cut":
          run.fault("leader cut", `the leader of ${name} does not reach its API server for ${what.ms} ms`)
          network.cut(node, name)
          network.cut(name, node)
          return run.world.faultIn(what.ms, () => {
            network.heal(node, name)
            network.heal(name, node)
          })
      }
    },
    random: {
      weight: 8,
      ofElected: true,
      line: ({ elected, random }) => {
        const cluster = random.pick(elected)
        if (cluster === undefined) return undefined
        const what = random.pick(["dies", "stops", "stops", "is-cut"])
        const duration = what === "dies" ? "" : ` for ${random.pick(["4s", "11s", "14s", "18s", "25s", "70s"])}`
        return `leader ${cluster} ${what}${duration}`
      }
    }
  }),
  act({
    name: "rollout",
    words: { cluster },
    summary:
      "All replicas of a cluster's operator are replaced, as by an upgrade of its chart: a new pod stands by " +
      "before an old one ends, one after the other.",
    run: ({ cluster: { host, name, server } }, run) => {
      if (!host.isElected) return `no leader is elected in ${name}`
      if (host.isRollingOut) return `the operator of ${name} is being replaced already`
      if (host.isGone) return `the operator of ${name} is gone`
      if (server.isDown) return `the API server of ${name} does not answer`
      run.fault("rollout", `the operator of ${name} is replaced`)
      host.rollOut()
    },
    random: {
      weight: 4,
      ofElected: true,
      line: ({ elected, random }) => {
        const cluster = random.pick(elected)
        return cluster === undefined ? undefined : `rollout ${cluster}`
      }
    }
  }),
  act({
    name: "skew",
    words: { cluster: after("operator", cluster), by: oneWord("+<duration>|-<duration>", signedDuration("+10m")) },
    summary: "The clock of an operator's host is ahead, or behind, by so much; kept over restarts.",
    run: ({ by, cluster: { host, name } }, run) => {
      const way = by < 0 ? "behind" : "ahead"
      run.fault("clock skew", `the clock of the operator of ${name} is ${Math.abs(by)} ms ${way}`)
      host.setSkew(by)
    },
    random: {
      weight: 2,
      line: ({ places, random }) =>
        `skew operator ${random.pick(places)} ${random.pick(["+", "-"])}${random.pick(["2s", "70s", "10m"])}`
    }
  })
]

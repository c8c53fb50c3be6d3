/**
 * Makes random stories of branches of databases: small worlds, few sessions, and mostly acts about branches, so that
 * thousands of them are cheap. The same story for the same seed. All other random stories are in `random-story.ts`.
 */

import { RandomStream } from "../kernel/random-stream.ts"
import { branchFates } from "../world/sim-branch-pods.ts"
import { electedActs, type RandomAct, type Setup, strand, Teller } from "./random-story.ts"
import type { Story } from "./story.ts"

const primary = "primary"
const minActs = 6
const maxActs = 16
const maxSessions = 4
/** Virtual ms after which no more acts come. */
const longest = 400_000

/** Acts about branches, and what else happens meanwhile. Time passes most often. */
const acts: ReadonlyArray<RandomAct> = strand("branches", [
  "tick",
  "env",
  "leave",
  "kill",
  "cut",
  "heal",
  "reset",
  "crash",
  "pause",
  "resume",
  "skew",
  "stop",
  "restart",
  "errors",
  "watch",
  "stale",
  "session",
  "steal",
  "request"
])
/** How much more often than usual a verb comes. */
const weights: ReadonlyMap<string, number> = new Map([
  ["tick", 1.5],
  ["session", 0.3],
  ["steal", 0.3],
  ["request", 0.2]
])

/** The worlds: where the primary is, and which cluster is the default. */
const topologies = [
  { primary, lines: ["cluster a default"] },
  { primary, lines: ["cluster a default"] },
  { primary, lines: ["cluster a default", "cluster b"] },
  { primary: "b", lines: ["cluster a default", "cluster b primary"] },
  { primary: "a", lines: ["cluster a default primary"] },
  { primary: "a", lines: ["cluster a default primary", "cluster b"] }
] as const

const setupOf = (random: RandomStream): Setup => {
  const topology = random.pick(topologies)
  const clusters = topology.lines.length === 1 ? (["a"] as const) : (["a", "b"] as const)
  const elected = random.chance(0.3) ? [random.pick([topology.primary, "a"])] : []
  const ttl = random.pick(["ttl 5s", "ttl 5s", "ttl 20s", ""])
  return {
    clusters,
    primary: topology.primary,
    defaultCluster: "a",
    copiesAt: topology.primary,
    elected,
    nodes: false,
    lines: [...topology.lines, "branches", ...(ttl === "" ? [] : [ttl]), ...elected.map((name) => `replicas ${name} 2`)]
  }
}

/**
 * The end of some stories: a branch is ordered and used, for longer than its TTL, while nothing else is wrong.
 * `places`: the primary and the default cluster.
 */
const calm = (places: ReadonlyArray<string>, random: RandomStream): ReadonlyArray<string> => [
  "heal all",
  "tick 40s",
  `branch q1 of ${random.pick(["one", "two", "three"])}`,
  "tick 15s",
  "env q1",
  ...(random.chance(0.4) ? ["crash operator a", "tick 40s"] : []),
  ...(random.chance(0.4) ? ["tick 170s", "env q1"] : []),
  ...(random.chance(0.4) ? ["database a delete any", "tick 3s", "branch q2 of three", "tick 15s"] : []),
  // The operator begins again, and the session comes back to it only after the shortest TTL of a branch.
  ...(random.chance(0.2)
    ? ["branch q3 of three at a", "tick 20s", "cut q3 a", "crash operator a", "tick 80s", "heal all", "tick 20s"]
    : []),
  // A branch is made with migrations, and a developer adds one to the order or to the branch itself.
  ...(random.chance(0.3)
    ? ["branch q4 of four migrated", "tick 20s", `database ${random.pick(places)} migrate four`, "tick 15s"]
    : [])
]

/** Another cluster becomes the default in some stories, which takes another process of the primary. */
const withAnotherDefault = (
  { clusters, elected, primary: home }: Setup,
  lines: ReadonlyArray<string>,
  random: RandomStream
): ReadonlyArray<string> => {
  const other = clusters.find((name) => name !== "a" && name !== home)
  // Replicas would have different defaults for a while.
  if (other === undefined || home === "a" || elected.includes(home) || !random.chance(0.4)) return lines
  const change = [`configure default ${other}`, `crash operator ${home}`]
  const after = [`tick ${random.pick(["5s", "20s"])}`, "branch d1 of one", "tick 15s", "env d1"]
  return lines.toSpliced(random.int(1, lines.length), 0, ...change, ...(random.chance(0.7) ? after : []))
}

/** Deeds of people at a second primary of the same clusters, and of its operator. */
const deedsAtSecond = [
  "database hub make one",
  "database hub make one",
  "database hub make two",
  "database hub delete any",
  "database hub delete any",
  "database hub edit-ttl any",
  "database hub migrate any",
  "crash operator hub",
  "cut hub a",
  "heal hub a"
] as const

/** In some stories another primary orders branches in the same default cluster. */
const withSecondPrimary = (lines: ReadonlyArray<string>, random: RandomStream): ReadonlyArray<string> => {
  if (!random.chance(0.12)) return lines
  let told = lines
  const count = random.int(3, 8)
  for (let i = 0; i < count; i++) told = told.toSpliced(random.int(0, told.length), 0, random.pick(deedsAtSecond))
  return ["primary hub too", ...told]
}

/** The end of some stories: a user orders branches of Secrets that are not the target's. */
const pryings = (places: ReadonlyArray<string>, random: RandomStream): ReadonlyArray<string> =>
  random.chance(0.2)
    ? ["heal all", "tick 40s", ...["p1", "p2"].map((id) => `database ${random.pick(places)} pry ${id}`), "tick 40s"]
    : []

/** The random story of branches of a seed, the same every time. The seed of its world is the same text. */
export const branchStory = (seed: string): Story => {
  const random = new RandomStream(`story of branches ${seed}`)
  const setup = setupOf(random)
  const teller = new Teller(setup, maxSessions, weights)
  const candidates = setup.elected.length > 0 ? [...acts, ...electedActs] : acts
  if (random.chance(0.25)) teller.add(`engine a ${random.pick(branchFates)}`)
  const [first] = acts
  if (first !== undefined) teller.say(first, random.split("first"))
  teller.add(random.pick(["tick 200ms", "tick 2s", "tick 10s", "tick 10s"]))
  const count = random.int(minActs, maxActs)
  for (let i = 0; i < count && teller.time < longest; i++) teller.tellOf(candidates, random.split(`act ${i}`))
  const asked = withAnotherDefault(setup, teller.lines, new RandomStream(`another default in ${seed}`))
  const lines = withSecondPrimary(asked, new RandomStream(`second primary in ${seed}`))
  const places = [setup.primary, setup.defaultCluster]
  const end = random.chance(0.3) ? calm(places, random) : []
  const pried = pryings(places, new RandomStream(`secrets asked for in ${seed}`))
  return { seed, lines: [...setup.lines, ...lines, ...end, ...pried] }
}

/**
 * Makes random stories out of the verbs' own random lines: the same story for the same seed, and shrinkable by
 * fast-check. Running them is in `run-story.ts`, weights and words of a line are in the verbs.
 */

import { Result } from "effect"
import fc from "fast-check"
import { RandomStream } from "../kernel/random-stream.ts"
import { kubeconfigAuths } from "../world/member-plan.ts"
import type { Story } from "./story.ts"
import type { Draw, Verb } from "./verb.ts"
import { verbs } from "./verbs.ts"
import { duration } from "./words.ts"

/** How big random stories get. */
export interface RandomStoryOptions {
  /** Most workload clusters, at least 1. */
  readonly clusters: number
  /** Most sessions that are started, at least 1, beside those of what is woven in: copies, and policies at the end. */
  readonly sessions: number
  /** Virtual minutes after which the acts end, about. */
  readonly minutes: number
}

/**
 * Small enough to be quick and readable, yet with every kind of member: the default cluster, a healthy one and a faulty
 * one.
 */
export const defaultRandomStory: RandomStoryOptions = { clusters: 3, sessions: 3, minutes: 5 }

const minActs = 10
/**
 * Most acts of a story: enough to fill the time. Stories of the usual length may be shorter, so that a rare event is
 * not drowned by later ones.
 */
const maxActs = (minutes: number): number => Math.max(60, Math.ceil(minutes * 12))
const primary = "primary"

type Act = Extract<Verb, { readonly kind: "act" }>
export type RandomAct = Act & Required<Pick<Act, "random">>

const allActs: ReadonlyArray<RandomAct> = verbs.flatMap((verb) =>
  verb.kind === "act" && verb.random !== undefined && verb.random.weight > 0 ? [{ ...verb, random: verb.random }] : []
)
/** Acts of all stories come first: the others then change nothing about how stories without them are drawn. */
const acts = allActs.filter(
  ({ random }) => random.ofElected !== true && random.ofNodes !== true && random.woven === undefined
)
export const electedActs = allActs.filter(({ random }) => random.ofElected === true)
const nodeActs = allActs.filter(({ random }) => random.ofNodes === true)
/** How much more often than usual a verb may come. Time passes between acts, and sessions start, in every story. */
const multiples: Readonly<Record<string, ReadonlyArray<number>>> = { session: [1], tick: [3, 4] }
const defaultMultiples: ReadonlyArray<number> = [1, 1, 0, 4]
const minWoven = 4
/** Most sessions on copies. */
const maxCopies = 3
const maxWoven = 14
/** Workloads that copies are made of, in the clusters of a strand of copies. */
const copiedWorkloads = ["statefulset/db pods 2", "job/batch", "cronjob/nightly"]

const seed = fc.noShrink(fc.integer({ min: 0, max: 0x7fffffff }))

/** The acts of a strand, and others of all stories by their names. */
export function strand(
  of: NonNullable<RandomAct["random"]["woven"]>,
  others: ReadonlyArray<string>
): ReadonlyArray<RandomAct> {
  const known = others.flatMap((name) => acts.filter((verb) => verb.name === name))
  return [...allActs.filter(({ random }) => random.woven === of), ...known]
}

/** A world as random lines are drawn for it. */
export interface Setup {
  readonly clusters: readonly [string, ...ReadonlyArray<string>]
  readonly primary: string
  readonly defaultCluster: string
  /** The cluster whose operator is asked for copies. */
  readonly copiesAt: string
  /** Clusters whose operators have replicas. */
  readonly elected: ReadonlyArray<string>
  /** Whether there are faults between operators and agents. */
  readonly nodes: boolean
  readonly lines: ReadonlyArray<string>
}

/** Which operators have two replicas. */
const electedArbitrary = fc.constantFrom<ReadonlyArray<"primary" | "member">>(
  [],
  [],
  ["primary"],
  ["member"],
  ["primary", "member"],
  [],
  [],
  [],
  []
)

const withReplicas = (setup: Setup, which: ReadonlyArray<"primary" | "member">): Setup => {
  // Primary and first cluster may be the same cluster.
  const elected = [...new Set(which.map((role) => (role === "primary" ? setup.primary : setup.clusters[0])))]
  return { ...setup, elected, lines: [...setup.lines, ...elected.map((name) => `replicas ${name} 2`)] }
}

/** Agents of the first cluster as ephemeral containers; those of the others stay Jobs. */
const withEphemeralAgents = (setup: Setup, isChosen: boolean): Setup =>
  isChosen ? { ...setup, lines: [...setup.lines, `ephemeral ${setup.clusters[0]}`] } : setup

const setupArbitrary = (most: number): fc.Arbitrary<Setup> =>
  fc
    .record({
      // Several clusters are what this program is for, so the most is the most common.
      clusters: fc.oneof(
        { weight: 1, arbitrary: fc.integer({ min: 1, max: most }) },
        { weight: 2, arbitrary: fc.constant(most) }
      ),
      defaultCluster: fc.nat(),
      pods: fc.array(fc.constantFrom(1, 1, 1, 1, 2, 2, 0), { minLength: most, maxLength: most }),
      primaryIsDefault: fc.constantFrom(false, false, true),
      settings: fc.tuple(
        fc.constantFrom("", "", "", "start all"),
        fc.constantFrom("", "", "", "ttl 5s", "ttl 20s"),
        fc.constantFrom("", "", "", "timeout 20s")
      )
    })
    .map(({ clusters, defaultCluster, pods, primaryIsDefault, settings }) => {
      const chosen = defaultCluster % clusters
      const names = Array.from({ length: clusters }, (_, i) => String.fromCodePoint(0x61 + i))
      const [first = "a", ...rest] = names
      const lines = names.map((name, i) => {
        const isDefault = i === chosen
        const flags = isDefault ? ` default${primaryIsDefault ? " primary" : ""}` : ""
        const count = pods[i] ?? 1
        return `cluster ${name}${flags}${count === 1 ? "" : ` pods ${count}`}`
      })
      const itsPrimary = primaryIsDefault ? (names[chosen] ?? first) : primary
      return {
        clusters: [first, ...rest],
        primary: itsPrimary,
        defaultCluster: names[chosen] ?? first,
        copiesAt: itsPrimary,
        elected: [],
        nodes: false,
        lines: [...lines, ...settings.filter((line) => line !== "")]
      }
    })

/** Draws acts one by one, and remembers what they have said so far. */
export class Teller {
  readonly lines: Array<string> = []
  /** Virtual ms that the acts take. */
  time = 0
  readonly #setup: Setup
  readonly #maxSessions: number
  readonly #weights: ReadonlyMap<string, number>
  readonly #sessions: Array<string> = []

  readonly #prefix: string

  constructor(
    setup: Setup,
    maxSessions: number,
    weights: ReadonlyMap<string, number>,
    known: { readonly prefix: string; readonly sessions: ReadonlyArray<string> } = { prefix: "s", sessions: [] }
  ) {
    this.#prefix = known.prefix
    this.#sessions.push(...known.sessions)
    this.#setup = setup
    this.#maxSessions = maxSessions
    this.#weights = weights
  }

  /** Says one line of a verb; false if the verb has no line to say now. */
  say(verb: RandomAct, random: RandomStream): boolean {
    const { clusters, copiesAt, elected, primary } = this.#setup
    const [first, ...rest] = clusters
    const started: Array<string> = []
    const draw: Draw = {
      random,
      clusters,
      primary,
      copiesAt,
      elected,
      places: clusters.includes(primary) ? clusters : [primary, first, ...rest],
      sessions: this.#sessions,
      newSession: () => {
        const name = `${this.#prefix}${this.#sessions.length + started.length + 1}`
        started.push(name)
        return name
      }
    }
    const line = verb.random.line(draw)
    if (line === undefined || this.#sessions.length + started.length > this.#maxSessions) return false
    this.#sessions.push(...started)
    this.add(line)
    return true
  }

  add(line: string): void {
    const [name, time] = line.split(" ")
    if (name === "tick") this.time += Result.getOrElse(duration(time), () => 0)
    this.lines.push(line)
  }

  #sayOf(candidates: ReadonlyArray<RandomAct>, random: RandomStream): void {
    const weighted = candidates.map((verb) => [verb, verb.random.weight * (this.#weights.get(verb.name) ?? 1)] as const)
    const total = weighted.reduce((sum, [, weight]) => sum + weight, 0)
    let at = random.fraction() * total
    const index = weighted.findIndex(([, weight]) => (at -= weight) < 0)
    const chosen = weighted[index]?.[0]
    if (chosen === undefined || this.say(chosen, random.split(chosen.name))) return
    this.#sayOf(candidates.toSpliced(index, 1), random)
  }

  /** Says one line of one of these verbs. */
  tellOf(candidates: ReadonlyArray<RandomAct>, random: RandomStream): void {
    this.#sayOf(candidates, random)
  }

  /** Says one line of any verb. */
  tell(random: RandomStream): void {
    const { elected, nodes } = this.#setup
    const more = [...(elected.length > 0 ? electedActs : []), ...(nodes ? nodeActs : [])]
    this.#sayOf(more.length > 0 ? [...acts, ...more] : acts, random)
  }
}

/** An act of a strand, and its place among the acts of the story: a fraction of them. */
interface WovenAct {
  readonly act: number
  readonly at: number
}

const wovenArbitrary = (of: Woven): fc.Arbitrary<ReadonlyArray<WovenAct>> =>
  fc
    .record({
      isIn: fc.constantFrom(...strands[of].isIn),
      acts: fc.array(fc.record({ act: seed, at: fc.double({ min: 0, max: 1, noNaN: true }) }), {
        minLength: minWoven,
        maxLength: maxWoven
      })
    })
    .map(({ acts: drawn, isIn }) => (isIn ? drawn.toSorted((a, b) => a.at - b.at) : []))

const named = (name: string): RandomAct | undefined => allActs.find((verb) => verb.name === name)

/** The beginning of a strand of copies over many clusters: mostly they are ready before the next act. */
const beginFleetCopy = (teller: Teller, random: RandomStream): void => {
  const copy = named("copy")
  if (copy !== undefined) teller.say(copy, random)
  teller.add(random.chance(0.7) ? "tick 10s" : "tick 500ms")
}

/** The end of a strand of policies: a policy comes, and perhaps goes, while nothing else is wrong. */
const calmPolicy = (home: string, primary: string, random: RandomStream): ReadonlyArray<string> => {
  const place = random.pick([home, primary])
  const rule = random.pick(["steal", "steal-without-filter", "mirror", "profile"])
  const begin = ["heal all", "tick 40s", "session p1", "tick 8s", "steal p1 81", "tick 2s"]
  const made = [`policy ${place} one gone`, `policy ${place} two ${rule}`, "tick 40s", "steal p1 82", "tick 2s"]
  const gone = [`policy ${place} two gone`, "tick 20s", "steal p1 83", "session p2", "tick 2s"]
  return [...begin, ...made, ...(random.chance(0.5) ? gone : [])]
}

/**
 * The end of a story with policies: a policy guards a workload whose pods the target of a session covers too, and they
 * come later.
 */
const guardedPods = ({ clusters, primary }: Setup, random: RandomStream): ReadonlyArray<string> => {
  const home = clusters.find((name) => name !== primary) ?? primary
  const rule = random.pick(["steal", "steal-without-filter", "mirror"])
  const subscribes = `${rule === "mirror" ? "mirror" : "steal"} g1 87`
  const made = [
    ...clusters.map((name) => `canary ${name} 0`),
    `policy ${home} guard ${rule} on deployment/myapp-canary`
  ]
  const begin = ["heal all", "tick 40s", ...made, "tick 20s", "session g1 target service/web", "tick 8s", subscribes]
  return [...begin, "tick 5s", `canary ${home} 1`, "tick 40s"]
}

/** The end of a strand of the fleet: a cluster goes and comes back, or moves, while nothing else is wrong. */
const calmFleet = (cluster: string, random: RandomStream): ReadonlyArray<string> => {
  const begin = ["heal all", "tick 40s", `configure remove ${cluster}`, "tick 10s", "session f1", "tick 8s"]
  const refused = random.chance(0.3) ? ["configure nonsense", "tick 10s"] : []
  const moved = random.chance(0.5) ? [`configure move ${cluster}`, "tick 20s", "steal f1 84"] : []
  return [...begin, ...refused, `configure add ${cluster}`, "tick 20s", ...moved]
}

/** Tokens of the members: of the shortest life, or of a longer one that the member does not grant again. */
const tokenSetup = ({ clusters, primary }: Setup, random: RandomStream): ReadonlyArray<string> => {
  const life = random.pick(["10m", "10m", "15m", "20m at most 10m"])
  return clusters
    .filter((name) => name !== primary)
    .map((name) => {
      const clock = random.pick(["", "", "", " clock +3m", " clock -3m"])
      return `tokens ${name} for ${life}${clock}`
    })
}

/**
 * The end of a strand of tokens: they are renewed while nothing else is wrong, and by an operator that starts again.
 */
const calmTokens = (member: string, primary: string, random: RandomStream): ReadonlyArray<string> => {
  const begin = ["heal all", "tick 14m"]
  const changed = random.pick(["new", "helm", "forgotten"])
  const restarted = random.chance(0.6) ? [`crash operator ${primary}`, "tick 90s"] : []
  return [...begin, `token ${member} ${changed}`, "tick 12m", ...restarted, "session t1", "tick 8s", "steal t1 85"]
}

/** Ways of members: found ones and configured ones, by all kinds of credentials. The default cluster is configured. */
const memberSetup = ({ clusters, defaultCluster, primary }: Setup, random: RandomStream): ReadonlyArray<string> => {
  const configured = ["mtls", "eks", "aks"]
  const found = [
    "clusterProfile",
    ...["kubeconfigSecrets", "kubeconfigFile", "kubeconfigDirectory", "clusterApi"].flatMap((provider) =>
      kubeconfigAuths.map((auth) => `${provider} with ${auth}`)
    )
  ]
  return clusters
    .filter((name) => name !== primary)
    .map((name) =>
      name === defaultCluster || random.chance(0.3)
        ? `authenticate ${name} by ${random.pick(configured)} for 10m`
        : `found ${name} by ${random.pick(found)} for 10m`
    )
}

/** The end of a strand of members: credentials are replaced, and a cluster goes and comes back, with nothing wrong. */
const calmMembers = (member: string, primary: string, random: RandomStream): ReadonlyArray<string> => {
  const begin = ["heal all", "tick 14m", `rotate ${member}`, "tick 12m"]
  const spoilt = random.chance(0.5) ? ["provide nonsense", "tick 30s", "provide files"] : []
  const restarted = random.chance(0.5) ? [`crash operator ${primary}`, "tick 90s"] : []
  const back = [`withdraw ${member}`, "tick 20s", `provide ${member}`, "tick 20s"]
  const failing = [`maker ${member} ${random.pick(["fails", "hangs", "nonsense"])}`, "tick 6m", `maker ${member} works`]
  return [...begin, ...spoilt, ...failing, "tick 2m", ...restarted, ...back, "session m1", "tick 8s", "steal m1 86"]
}

/** The clusters that are no primary. */
const membersOf = ({ clusters, primary }: Setup): ReadonlyArray<string> => clusters.filter((name) => name !== primary)

/** The cluster that most strands are about. */
const homeOf = (setup: Setup): string => membersOf(setup)[0] ?? setup.primary

const copiedIn = (clusters: ReadonlyArray<string>): ReadonlyArray<string> =>
  clusters.flatMap((cluster) => copiedWorkloads.map((workload) => `workload ${cluster} ${workload}`))

/** Strands that are woven into some stories, each with acts of its own beside usual acts. */
interface Strand {
  readonly acts: ReadonlyArray<RandomAct>
  /** How often the strand begins. */
  readonly isIn: ReadonlyArray<boolean>
  /** Whether its acts are about all clusters, and not about the first alone that is no primary. */
  readonly isOfAll?: true
  /** Whether it makes no sense without a member. */
  readonly needsMember?: true
  /** Whether it has sessions of its own, named with this letter; the others are about the story's. */
  readonly prefix?: string
  /** Its first act. */
  readonly begin?: (teller: Teller, random: RandomStream) => void
  readonly setup?: (setup: Setup, random: RandomStream) => ReadonlyArray<string>
  /** Its end, while nothing else is wrong. */
  readonly calm?: (setup: Setup, random: RandomStream) => ReadonlyArray<string>
}

type Woven = "copies" | "fleetCopies" | "policies" | "fleet" | "tokens" | "members"
const onAnyCopy = ["request", "crash", "errors"]
const onCredentials = ["request", "crash", "tick", "errors", "cut", "heal"]
const strands: Readonly<Record<Woven, Strand>> = {
  copies: {
    acts: strand("copies", ["steal", "env", "leave", "kill", ...onAnyCopy]),
    isIn: [false, false, false, false, true, false],
    needsMember: true,
    prefix: "c",
    setup: (setup) => copiedIn([homeOf(setup)])
  },
  fleetCopies: {
    acts: strand("copies", ["steal", "env", "leave", "kill", "delete", ...onAnyCopy, "cut", "heal"]),
    isIn: [false, false, false, false, false, false, true, false],
    isOfAll: true,
    prefix: "f",
    begin: beginFleetCopy,
    setup: ({ clusters }) => copiedIn(clusters)
  },
  policies: {
    acts: strand("policies", ["steal", "mirror", "request"]),
    isIn: [false, false, true, false, false, false],
    calm: (setup, random) => calmPolicy(homeOf(setup), setup.primary, random)
  },
  fleet: {
    acts: strand("fleet", ["steal", "request", "leave", "crash", "tick"]),
    isIn: [false, false, false, true, false, false],
    isOfAll: true,
    calm: ({ clusters }, random) => calmFleet(random.pick(clusters), random)
  },
  tokens: {
    acts: strand("tokens", onCredentials),
    isIn: [false, false, false, true, false, false, false],
    isOfAll: true,
    needsMember: true,
    calm: (setup, random) => calmTokens(homeOf(setup), setup.primary, random),
    setup: tokenSetup
  },
  members: {
    acts: strand("members", onCredentials),
    isIn: [false, false, false, false, false, true, false, false],
    isOfAll: true,
    needsMember: true,
    calm: (setup, random) => calmMembers(random.pick(membersOf(setup)) ?? homeOf(setup), setup.primary, random),
    setup: memberSetup
  }
}
/** Weaves a strand into a story whose other lines stay as they are. */
const weave = (of: Woven, lines: ReadonlyArray<string>, setup: Setup, woven: ReadonlyArray<WovenAct>) => {
  const { acts: candidates, begin, calm: end, isOfAll, needsMember, prefix, setup: makeSetup } = strands[of]
  const [first] = woven
  if (first === undefined || (needsMember && membersOf(setup).length === 0)) return { lines, setup: [] }
  const home = homeOf(setup)
  const sessions = lines.flatMap((line) => /^session (\S+)/.exec(line)?.[1] ?? [])
  const known = prefix === undefined ? { prefix: "c", sessions } : { prefix, sessions: [] }
  const about = isOfAll ? setup : { ...setup, clusters: [home] as const, copiesAt: home }
  const teller = new Teller(about, maxCopies, new Map(), known)
  const calm = new RandomStream(`${first.act} calm`)
  const before: Array<Array<string>> = lines.map(() => [])
  const after: Array<string> = []
  for (const [i, { act, at }] of woven.entries()) {
    const from = teller.lines.length
    if (i === 0 && begin !== undefined) begin(teller, new RandomStream(`${act}`))
    else teller.tellOf(candidates, new RandomStream(`${act}`))
    ;(before[Math.floor(at * (lines.length + 1))] ?? after).push(...teller.lines.slice(from))
  }
  const ending = end?.(setup, calm) ?? []
  return {
    lines: [...lines.flatMap((line, i) => [...(before[i] ?? []), line]), ...after, ...ending],
    setup: makeSetup?.(setup, calm) ?? []
  }
}

/**
 * Random stories. In each story some verbs are missing and others are four times as common (swarm testing), so that
 * faults come up that need many acts of one kind and none of another. Stories shrink to stories with fewer acts.
 */
export const storyArbitrary = (options: RandomStoryOptions): fc.Arbitrary<Story> =>
  fc
    .record({
      seed: seed.map(String),
      setup: setupArbitrary(options.clusters),
      weights: fc.tuple(...acts.map(({ name }) => fc.constantFrom(...(multiples[name] ?? defaultMultiples)))),
      // In nearly all stories a session works when faults begin.
      begin: fc.constantFrom("session steal", "session steal", "session", ""),
      // An act depends on the acts before it. Each act has its own randomness, so that an act more or less changes few
      // others.
      acts: fc.array(seed, {
        minLength: options.minutes > defaultRandomStory.minutes ? maxActs(options.minutes) : minActs,
        maxLength: maxActs(options.minutes),
        size: "max"
      }),
      // Drawn last, so that an election changes nothing else, nor does a fault of nodes.
      elected: electedArbitrary,
      nodes: fc.constantFrom(false, false, false, true, false),
      // Woven into the story that is drawn so far, so that it stays as it was.
      copies: wovenArbitrary("copies"),
      policies: wovenArbitrary("policies"),
      ephemeral: fc.constantFrom(false, false, false, false, false, true, false, false),
      fleetCopies: wovenArbitrary("fleetCopies"),
      fleet: wovenArbitrary("fleet"),
      tokens: wovenArbitrary("tokens"),
      members: wovenArbitrary("members")
    })
    .map(({ acts: seeds, begin, elected, ephemeral, nodes, seed, setup: drawn, weights, ...woven }) => {
      const setup = withEphemeralAgents({ ...withReplicas(drawn, elected), nodes }, ephemeral)
      const teller = new Teller(setup, options.sessions, new Map(acts.map(({ name }, i) => [name, weights[i] ?? 1])))
      for (const name of begin.split(" ")) {
        const verb = named(name)
        if (verb === undefined) continue
        teller.say(verb, new RandomStream(`${seed} ${name}`))
        teller.add("tick 3s")
      }
      for (const act of seeds) {
        if (teller.lines.length >= maxActs(options.minutes) || teller.time >= options.minutes * 60_000) break
        teller.tell(new RandomStream(`${act}`))
      }
      const withCopies = weave("copies", teller.lines, setup, woven.copies)
      const withFleetCopies = weave("fleetCopies", withCopies.lines, setup, woven.fleetCopies)
      const withPolicies = weave("policies", withFleetCopies.lines, setup, woven.policies)
      // A cluster that leaves the fleet keeps the copies that it has, so the rules about copies would not hold there.
      const fleet = woven.fleetCopies.length > 0 ? [] : woven.fleet
      const withFleet = weave("fleet", withPolicies.lines, setup, fleet)
      const withTokens = weave("tokens", withFleet.lines, setup, woven.tokens)
      // Each member has one kind of credentials, and copies stay in a cluster that leaves the fleet.
      const isFree = woven.tokens.length === 0 && woven.fleetCopies.length === 0
      const { lines, setup: members } = weave("members", withTokens.lines, setup, isFree ? woven.members : [])
      const workloads = new Set([...withCopies.setup, ...withFleetCopies.setup])
      const [policy] = woven.policies
      const guarded = policy === undefined ? [] : guardedPods(setup, new RandomStream(`${policy.act} guarded`))
      return { seed, lines: [...setup.lines, ...workloads, ...withTokens.setup, ...members, ...lines, ...guarded] }
    })

/** The random story of a seed, the same every time. The seed of its world is the same text. */
export const randomStory = (seed: string, options: RandomStoryOptions): Story => {
  const [story] = fc.sample(fc.noBias(storyArbitrary(options)), {
    seed: new RandomStream(seed).int(0, 0x7fffffff),
    numRuns: 1
  })
  if (story === undefined) throw new Error("fast-check gave no story")
  return { ...story, seed }
}

/**
 * Makes stories in which members' tokens of ten minutes are renewed over and over, while all goes wrong that can hit a
 * renewal, and users work in every cluster that the network reaches. Each of their operations is an expectation of the
 * story, so that a story without a violation is one without a failed operation.
 */

import { RandomStream } from "../../lab/simulation/kernel/random-stream.ts"
import type { Story } from "../../lab/simulation/story/story.ts"

export interface RotationOptions {
  /** Members, at least 2. */
  readonly clusters: number
  /** Virtual hours, about. */
  readonly hours: number
  /** Members know the primary by tokens of clouds and by client certificates, in place of service accounts' tokens. */
  readonly isWithoutAccounts?: boolean
}

/** A story, and the number of its lines at which an operation of a user must succeed. */
export interface RotationStory {
  readonly story: Story
  readonly operations: number
}

/** One fault, as lines of a story, and the cluster that users cannot use meanwhile. */
interface Fault {
  readonly begin: ReadonlyArray<string>
  /** The time for which it lasts, in minutes; 0: it is over at once. */
  readonly minutes: number
  readonly end: ReadonlyArray<string>
  readonly away?: string
  /** Whether new sessions do without the cluster, which those that run still use. */
  readonly leftOut?: string
}

/** The member of a fault, all members, and chance. */
interface Scene {
  readonly member: string
  readonly isElected: boolean
  readonly random: RandomStream
}

const callErrors = [
  "server-error",
  "too-many-requests",
  "unavailable",
  "unreachable",
  "answer-lost",
  "conflict",
  "slow",
  "forbidden"
] as const

const once = (...begin: ReadonlyArray<string>): Fault => ({ begin, minutes: 0, end: [] })

type Faults = Readonly<Record<string, (scene: Scene) => Fault>>

/** Faults that can hit every renewal. */
const commonFaults = {
  none: () => once(),
  "the primary dies": () => once("crash operator primary"),
  "the primary stops": ({ random }) =>
    once("pause operator primary", `tick ${random.int(5, 20)}s`, "resume operator primary"),
  "the leader goes": ({ isElected, random }) =>
    once(isElected ? `leader primary ${random.pick(["dies", "stops for 18s", "is-cut for 18s"])}` : ""),
  "a short cut": ({ member, random }) => ({
    begin: [`cut primary ${member}${random.chance(0.4) ? " one-way" : ""}`],
    minutes: 1,
    end: [`heal primary ${member}`],
    away: member
  }),
  "the member's API server is down": ({ member }) => ({
    begin: [`stop server ${member}`],
    minutes: 1,
    end: [`restart server ${member}`],
    away: member
  })
} as const satisfies Faults

/** Those beside them that hit what clouds make and what others replace; each is about some members alone. */
const faultsWithoutAccounts: Faults = {
  ...commonFaults,
  // Shorter than what the last credentials have left when others are due.
  "a cloud goes wrong": ({ member, random }) => ({
    begin: [`maker ${member} ${random.pick(["fails", "hangs", "slow", "nonsense"])}`],
    minutes: random.int(1, 3),
    end: [`maker ${member} works`]
  }),
  "another certificate": ({ member }) => once(`rotate ${member}`),
  "no certificate": ({ member, random }) => ({
    begin: [`rotate ${member} wrong`],
    minutes: random.int(1, 3),
    end: [`rotate ${member}`]
  }),
  "a long cut": ({ member, random }) => ({
    begin: [`cut primary ${member}`],
    minutes: random.int(11, 25),
    end: [`heal primary ${member}`],
    away: member
  })
}

/** Each kind of fault that can hit a renewal. */
const faults: Faults = {
  none: commonFaults.none,
  "a token is refused": ({ member, random }) =>
    once(`errors ${member} ${random.pick(callErrors)} for ${random.int(1, 4)} calls of tokens`),
  "a Secret is not written": ({ random }) =>
    once(`errors primary ${random.pick(callErrors)} for ${random.int(1, 6)} calls of secrets`),
  "a token does not work": ({ member }) => once(`token ${member} dud`),
  // After ten minutes it has died, or does no more: users' requests are not to come in the very moment.
  "the primary dies in a renewal": ({ random }) =>
    once(
      `crash operator primary at call +${random.int(1, 3)} ${random.pick(["before", "after"])} of ` +
        random.pick(["tokens", "secrets"]),
      "tick 10m",
      "heal all"
    ),
  "the primary dies": commonFaults["the primary dies"],
  "the primary stops": commonFaults["the primary stops"],
  "the leader goes": commonFaults["the leader goes"],
  "Helm writes its own token": ({ member }) => once(`token ${member} helm`),
  "another token": ({ member }) => once(`token ${member} new`),
  "the renewed token is deleted": ({ member }) => once(`token ${member} forgotten`),
  "a token that nobody knows": ({ member, random }) => ({
    begin: [`token ${member} ${random.pick(["opaque", "broken"])}`],
    minutes: random.int(1, 25),
    end: [`token ${member} ${random.pick(["new", "helm"])}`]
  }),
  "the Secret is away": ({ member, random }) => ({
    begin: [`token ${member} gone`],
    minutes: random.int(1, 5),
    end: [`token ${member} new`],
    leftOut: member
  }),
  "a short cut": commonFaults["a short cut"],
  // For longer than a token lives: somebody has to make the next one.
  "a long cut": ({ member, random }) => ({
    begin: [`cut primary ${member}`],
    minutes: random.int(11, 25),
    end: [`heal primary ${member}`, `token ${member} new`],
    away: member
  }),
  "the member's API server is down": commonFaults["the member's API server is down"]
}

/** Collects lines, and counts those that are operations. */
class Lines {
  readonly lines: Array<string> = []
  operations = 0
  /** Virtual minutes so far. */
  minutes = 0

  add(...lines: ReadonlyArray<string>): void {
    this.lines.push(...lines.filter((line) => line !== ""))
  }

  pass(minutes: number): void {
    this.add(`tick ${Math.round(minutes * 60_000)}ms`)
    this.minutes += minutes
  }

  mustHold(line: string): void {
    this.operations++
    this.add(line)
  }
}

/** A user starts a session, has a request of each of the clusters, and leaves. */
const shortSession = (lines: Lines, name: string, clusters: ReadonlyArray<string>): void => {
  lines.add(`session ${name} user bob`)
  lines.mustHold(`expect within 60s ${name} serving`)
  lines.add(`steal ${name} 81`, "tick 3s")
  for (const cluster of clusters) lines.mustHold(`request ${cluster} port 81 → ${name}`)
  lines.add(`leave ${name}`)
}

/** The session that lives as long as the story answers each of the clusters. */
const longSession = (lines: Lines, clusters: ReadonlyArray<string>): void => {
  lines.mustHold("expect within 60s s1 serving")
  lines.add("tick 5s")
  for (const cluster of clusters) lines.mustHold(`request ${cluster} → s1`)
}

/** The members of a story, and what may go wrong with them. */
interface Cast {
  readonly members: ReadonlyArray<string>
  readonly isElected: boolean
  readonly faults: Faults
}

const round = (lines: Lines, { faults: possible, isElected, members }: Cast, random: RandomStream): void => {
  const number = lines.lines.length
  // The default cluster is never cut off: without it no session starts.
  const member = random.pick(members.slice(1)) ?? ""
  const kind = random.pick(Object.keys(possible)) ?? "none"
  const { away, begin, end, leftOut, minutes } = possible[kind]?.({ member, isElected, random }) ?? once()
  lines.pass(random.int(0, 240) / 60)
  lines.add(...begin)
  lines.pass(minutes === 0 ? random.int(1, 11) : minutes)
  longSession(
    lines,
    members.filter((name) => name !== away)
  )
  shortSession(
    lines,
    `k${number}`,
    members.filter((name) => name !== away && name !== leftOut)
  )
  if (end.length > 0) lines.add(...end, "tick 60s")
  for (const name of members) lines.mustHold(`expect within 60s member s1 ${name} ready`)
  longSession(lines, members)
}

/** Lives of tokens that differ, each of ten minutes after the first renewal. */
const lives = ["10m", "10m", "15m at most 10m", "1h at most 10m", "10m clock +3m", "10m clock -4m"]

const ways = ["eks", "aks", "mtls"]

/** The story of a seed, the same every time. */
export const rotationStory = (
  seed: string,
  { clusters, hours, isWithoutAccounts = false }: RotationOptions
): RotationStory => {
  const random = new RandomStream(`rotation ${seed}`)
  const members = Array.from({ length: clusters }, (_, i) => `c${i + 1}`)
  const isElected = random.chance(0.5)
  const lines = new Lines()
  lines.add(...members.map((name, i) => `cluster ${name}${i === 0 ? " default" : ""}`))
  lines.add(
    ...members.map((name, i) =>
      isWithoutAccounts
        ? `authenticate ${name} by ${ways[i % ways.length]} for 10m`
        : `tokens ${name} for ${random.pick(lives)}`
    )
  )
  if (isElected) lines.add("replicas primary 2")
  lines.add("tick 30s", "session s1", "steal s1 80")
  longSession(lines, members)
  const cast = { members, isElected, faults: isWithoutAccounts ? faultsWithoutAccounts : faults }
  while (lines.minutes < hours * 60) round(lines, cast, random)
  return { story: { seed, lines: lines.lines }, operations: lines.operations }
}

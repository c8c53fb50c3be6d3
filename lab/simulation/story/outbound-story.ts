/**
 * Random stories of members that dial out: stories of all kinds, in which no way leads to some members, and acts about
 * tunnels are woven in.
 */

import { RandomStream } from "../kernel/random-stream.ts"
import { type RandomStoryOptions, randomStory, type Setup, strand, Teller } from "./random-story.ts"
import type { Story } from "./story.ts"
import { verbs } from "./verbs.ts"

const minActs = 3
const maxActs = 12
/** How long the certificates of members last. */
const lifetime = "30m"

const acts = strand("outbound", ["tick", "tick", "request", "cut", "heal", "crash", "skew", "steal"])
const setupNames: ReadonlySet<string> = new Set(verbs.flatMap(({ kind, name }) => (kind === "setup" ? [name] : [])))

type Ending = (at: string, primary: string) => ReadonlyArray<string>
type Endings = readonly [Ending, ...ReadonlyArray<Ending>]

/** Endings in which something happens about a tunnel while all else is well; `at`: a member that dials out. */
const endings: Endings = [
  (at) => [`tunnel ${at} silent`, "tick 40s", "session o1", "tick 8s", "steal o1 91", "tick 3s"],
  (at) => ["exchange", "tick 3m", `crash operator ${at}`, "tick 40s", "session o1", "tick 8s", "steal o1 91"],
  (at) => ["exchange", "tick 3m", `crash operator ${at}`, "tick 40s", "restore", "tick 2m"],
  (at) => [`thief ${at}`, "tick 40s", `join ${at}`, "tick 60s", "session o1", "tick 8s"],
  (at, primary) => [`session o1 at ${at}`, "tick 8s", "steal o1 91", `cut ${primary} ${at}`, "tick 100s", "heal all"],
  (at) => [`session o1 at ${at}`, "tick 8s", "steal o1 91", `tunnel ${at} silent-up`, "tick 60s", `depart ${at}`],
  () => ["tick 12m", "session o1", "tick 8s", "steal o1 91"]
]

/** The same in an hour and more. */
const longEndings: Endings = [
  (at) => [`expire ${at}`, "tick 32m", "session o1", "tick 8s"],
  (at) => [`sleep ${at} 1h`, "tick 61m", "session o1", "tick 8s"],
  () => ["tick 30m", "session o1", "tick 8s", "steal o1 91"]
]

export const outboundStory = (seed: string, size: RandomStoryOptions): Story => {
  const { lines, ...story } = randomStory(seed, size)
  const random = new RandomStream(`members that dial out in ${seed}`)
  const clusters = lines.flatMap((line) => /^cluster (\S+)/u.exec(line)?.[1] ?? [])
  const primary = lines.flatMap((line) => /^cluster (\S+) default primary\b/u.exec(line)?.[1] ?? [])[0] ?? "primary"
  const members = random.shuffle(clusters.filter((name) => name !== primary))
  const [first, ...others] = members.slice(0, random.int(1, Math.max(1, members.length)))
  if (first === undefined) return { ...story, lines }
  const chosen = [first, ...others] as const
  const isTheirs = new RegExp(`^(tokens|authenticate|found) (${chosen.join("|")}) `, "u")
  const known = lines.filter((line) => !isTheirs.test(line))
  const isSetup = (line: string): boolean => setupNames.has(line.split(" ")[0] ?? "")
  const told = known.filter((line) => !isSetup(line))
  const about: Setup = {
    clusters: chosen,
    primary,
    defaultCluster: first,
    copiesAt: first,
    elected: [],
    nodes: false,
    lines: []
  }
  const sessions = told.flatMap((line) => /^session (\S+)/u.exec(line)?.[1] ?? [])
  const woven = Array.from({ length: random.int(minActs, maxActs) }, (_, i) => {
    const teller = new Teller(about, sessions.length, new Map(), { prefix: "o", sessions })
    teller.tellOf(acts, random.split(`act ${i}`))
    return { at: random.int(0, told.length), lines: teller.lines }
  })
  const story2 = [...told, ""].flatMap((line, i) => [
    ...woven.flatMap(({ at, lines: more }) => (at === i ? more : [])),
    ...(line === "" ? [] : [line])
  ])
  const ending = (random.chance(0.04) ? random.pick(longEndings) : random.pick(endings))(first, primary)
  return {
    ...story,
    lines: [
      ...known.filter(isSetup),
      ...chosen.map((name) => `outbound ${name} certificates ${lifetime}`),
      ...story2,
      ...(ending.length === 0 ? [] : ["heal all", "tick 40s", ...ending])
    ]
  }
}

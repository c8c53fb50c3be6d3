/**
 * Forms of the verb `expect`: each has its words, and looks at the world. The waiting and the failing are in
 * `verbs/course.ts`.
 */

import { Result } from "effect"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { branchIdLabel, phaseOfBranch } from "../world/branch-order.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { SimCluster, World } from "../world/world.ts"
import { allOf, parentOf } from "./objects.ts"
import { cases, choice, name, number, type Part, type Parts, type Said, sequence, restOfLine } from "./parts.ts"
import { clusterName, sessionName } from "./things.ts"
import { duration, someText } from "./words.ts"

/** Whether an expectation holds, and what was found. */
interface Seen {
  readonly holds: boolean
  readonly found: string
}

/** Looks at the world; `undefined` if a name in the expectation does not exist there. */
type Look = (world: World) => Seen | undefined

export interface Expectation {
  readonly look: Look
  /** How long it may take until the expectation holds, ms. */
  readonly patience: number
  /** Its words. */
  readonly sentence: string
}

interface ParentStatus {
  readonly phase?: string
  readonly clusterSessions?: Readonly<Record<string, { readonly ready?: boolean; readonly error?: string | null }>>
}

const statusOf = (world: World, client: SimClient): ParentStatus | undefined => {
  const parent = parentOf(world.primary, client)
  return parent === undefined ? undefined : ((parent["status"] ?? {}) as ParentStatus)
}

/** A state that is to be one of several words; `more` says why it is as it is. */
const state = (found: string, wanted: string, more = ""): Seen => ({
  holds: found === wanted,
  found: `it is ${found}${more}`
})

const form = <P extends Parts>(words: P, look: (world: World, said: Said<P>) => Seen | undefined): Part<Look> => {
  const { read, usage } = sequence(words)
  return { usage, read: (left) => Result.map(read(left), (said) => (world) => look(world, said)) }
}

const howMany = (count: (world: World, cluster: SimCluster) => number): Part<Look> =>
  form({ cluster: clusterName, wanted: number("<n>", "how many there should be") }, (world, { cluster, wanted }) => {
    const place = world.clusters.get(cluster)
    if (place === undefined) return undefined
    const found = count(world, place)
    return { holds: found === wanted, found: `there are ${found}` }
  })

/** Whether a member of a session is ready, waits or is left out. */
const memberState = (entry: { readonly ready?: boolean; readonly error?: string | null } | undefined): string => {
  if (entry === undefined) return "gone"
  if (entry.ready === true) return "ready"
  return (entry.error ?? undefined) === undefined ? "waits" : "left-out"
}

const clientState = ({ ended, isServing }: SimClient): string => {
  if (ended !== undefined) return "ended"
  return isServing ? "serving" : "waiting"
}

/** All that a cluster still has of sessions, copies and branches. */
const leftIn = ({ kubelet, name: cluster, server }: SimCluster): ReadonlyArray<string> =>
  [
    ...(["parent", "child", "job"] as const).flatMap((kind) =>
      allOf({ server }, kind).map(({ metadata }) => `${kind} ${metadata.name}`)
    ),
    ...server.objects.peekAll(branchDatabases).map(({ metadata }) => `branch ${metadata.name}`),
    ...kubelet.copies.map(({ metadata }) => `copy ${metadata.name}`),
    ...kubelet.agents.map((agent) => `agent ${agent.name}`)
  ].map((what) => `${what} in ${cluster}`)

/** The forms of an expectation, by their first word; any other first word is a session's name. */
const forms: Readonly<Record<string, Part<Look>>> = {
  phase: form(
    {
      session: sessionName,
      wanted: choice(["Initializing", "Pending", "Ready", "Failed", "Terminating", "gone"])
    },
    (world, { session, wanted }) => {
      const client = world.clients.get(session)
      if (client === undefined) return undefined
      const status = statusOf(world, client)
      return state(status === undefined ? "gone" : (status.phase ?? "new"), wanted)
    }
  ),
  member: form(
    { session: sessionName, cluster: clusterName, wanted: choice(["ready", "waits", "left-out"]) },
    (world, { cluster, session, wanted }) => {
      const client = world.clients.get(session)
      if (client === undefined || !world.clusters.has(cluster)) return undefined
      const entry = statusOf(world, client)?.clusterSessions?.[cluster]
      return state(memberState(entry), wanted, entry?.error === undefined ? "" : `: ${entry.error}`)
    }
  ),
  branch: form(
    {
      cluster: clusterName,
      id: name("<id>", "the id of a branch"),
      wanted: choice(["Init", "Pending", "Ready", "Failed", "gone"])
    },
    (world, { cluster, id, wanted }) => {
      const all = world.clusters.get(cluster)?.server.objects.peekAll(branchDatabases)
      if (all === undefined) return undefined
      const found = all.find(({ metadata }) => metadata.labels?.[branchIdLabel] === id)
      return state(found === undefined ? "gone" : (phaseOfBranch(found) ?? "new"), wanted)
    }
  ),
  child: howMany((_, cluster) => allOf(cluster, "child").length),
  agents: howMany((_, { kubelet }) => kubelet.agents.length),
  log: form(
    { session: sessionName, words: restOfLine("<words…>", (words) => someText(words, "what the log says")) },
    (world, { session, words }) => {
      const client = world.clients.get(session)
      return client === undefined
        ? undefined
        : {
            holds: client.logs.some((line) => line.includes(words)),
            found: `its log says ${client.logs.join(" / ") || "nothing"}`
          }
    }
  ),
  nothing: form({ left: choice(["left"]) }, (world) => {
    const left = [...world.clusters.values()].flatMap(leftIn)
    return { holds: left.length === 0, found: `there are ${left.join(", ")}` }
  })
}

const ofSession = form(
  {
    session: name("<session>", `a session's name or one of ${Object.keys(forms).join(", ")}`),
    wanted: cases({
      serving: {},
      waiting: {},
      ended: { why: restOfLine("[<words…>]", (words) => Result.succeed(words.join(" "))) }
    })
  },
  (world, { session, wanted }) => {
    const client = world.clients.get(session)
    if (client === undefined) return undefined
    const reason = client.ended === undefined ? "" : `: ${client.ended.message}`
    const seen = state(clientState(client), wanted.is, reason)
    return wanted.is === "ended" ? { ...seen, holds: seen.holds && reason.includes(wanted.why) } : seen
  }
)

const usages = [ofSession.usage, ...Object.entries(forms).map(([key, { usage }]) => `${key} ${usage}`)]

export const expectation: Part<Expectation> = {
  usage: `[within <duration>] ${usages.join(" | ")}`,
  read: (left) =>
    Result.gen(function* () {
      const patience = left[0] === "within" ? yield* duration(left.splice(0, 2)[1]) : 0
      const sentence = left.join(" ")
      const known = forms[left[0] ?? ""]
      if (known !== undefined) left.shift()
      return { look: yield* (known ?? ofSession).read(left), patience, sentence }
    })
}

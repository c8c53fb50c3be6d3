/**
 * The forms of the verb `expect`: each reads its words and looks at the world. The waiting and the failing are in
 * `verbs/expect.ts`.
 */

import { Result } from "effect"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { branchIdLabel, phaseOfBranch } from "../world/branch-order.ts"
import type { World } from "../world/world.ts"
import { allOf, parentOf } from "./objects.ts"
import { nameWord, nothingMore, oneOf, someText, wholeNumber } from "./words.ts"

/** Whether an expectation holds, and what was found. */
export interface Found {
  readonly holds: boolean
  readonly found: string
}

/** Looks at the world; `undefined` if a name in the expectation does not exist there. */
export type Expectation = (world: World) => Found | undefined

export interface Form {
  /** Such as `phase <session> Ready`. */
  readonly usage: string
  /** The words after the form's own. */
  readonly read: (words: ReadonlyArray<string>) => Result.Result<Expectation, string>
}

const phases = ["Initializing", "Pending", "Ready", "Failed", "Terminating", "gone"] as const
const branchPhases = ["Init", "Pending", "Ready", "Failed", "gone"] as const
const places = ["ready", "waits", "left-out"] as const

interface ParentStatus {
  readonly phase?: string
  readonly clusterSessions?: Readonly<Record<string, { readonly ready?: boolean; readonly error?: string | null }>>
}
const statusOf = (world: World, session: string): ParentStatus | undefined => {
  const client = world.clients.get(session)
  const parent = client === undefined ? undefined : parentOf(world.primary, client)
  return parent === undefined ? undefined : ((parent["status"] ?? {}) as ParentStatus)
}

const howMany = (usage: string, count: (world: World, cluster: string) => number): Form => ({
  usage,
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const wanted = yield* wholeNumber(second, "how many there should be")
      yield* nothingMore(rest)
      return (world) => {
        if (!world.clusters.has(cluster)) return undefined
        const found = count(world, cluster)
        return { holds: found === wanted, found: `there are ${found}` }
      }
    })
})

/** Reads `<session> serving` and the like. */
export const sessionState = (session: string, words: ReadonlyArray<string>): Result.Result<Expectation, string> =>
  Result.gen(function* () {
    const wanted = yield* oneOf(words[0], ["serving", "waiting", "ended"])
    const text = words.slice(1).join(" ")
    if (text !== "" && wanted !== "ended") return yield* Result.fail(`${JSON.stringify(text)} is too much`)
    return (world) => {
      const client = world.clients.get(session)
      if (client === undefined) return undefined
      const state = client.ended !== undefined ? "ended" : client.isServing ? "serving" : "waiting"
      const why = client.ended === undefined ? "" : `: ${client.ended.message}`
      return { holds: state === wanted && why.includes(text), found: `it is ${state}${why}` }
    }
  })

/** The forms of an expectation, by their first word; any other first word is a session's name. */
export const forms: Readonly<Record<string, Form>> = {
  phase: {
    usage: `phase <session> ${phases.join("|")}`,
    read: ([first, second, ...rest]) =>
      Result.gen(function* () {
        const session = yield* nameWord(first, "a session's name")
        const wanted = yield* oneOf(second, phases)
        yield* nothingMore(rest)
        return (world) => {
          if (!world.clients.has(session)) return undefined
          const status = statusOf(world, session)
          const phase = status === undefined ? "gone" : (status.phase ?? "new")
          return { holds: phase === wanted, found: `it is ${phase}` }
        }
      })
  },
  member: {
    usage: `member <session> <cluster> ${places.join("|")}`,
    read: ([first, second, third, ...rest]) =>
      Result.gen(function* () {
        const session = yield* nameWord(first, "a session's name")
        const cluster = yield* nameWord(second, "a cluster's name")
        const wanted = yield* oneOf(third, places)
        yield* nothingMore(rest)
        return (world) => {
          if (!world.clients.has(session) || !world.clusters.has(cluster)) return undefined
          const entry = statusOf(world, session)?.clusterSessions?.[cluster]
          const state =
            entry === undefined
              ? "gone"
              : entry.ready === true
                ? "ready"
                : (entry.error ?? undefined) === undefined
                  ? "waits"
                  : "left-out"
          return {
            holds: state === wanted,
            found: `it is ${state}${entry?.error === undefined ? "" : `: ${entry.error}`}`
          }
        }
      })
  },
  branch: {
    usage: `branch <cluster> <id> ${branchPhases.join("|")}`,
    read: ([first, second, third, ...rest]) =>
      Result.gen(function* () {
        const cluster = yield* nameWord(first, "a cluster's name")
        const id = yield* nameWord(second, "the id of a branch")
        const wanted = yield* oneOf(third, branchPhases)
        yield* nothingMore(rest)
        return (world) => {
          const objects = world.clusters.get(cluster)?.server.objects
          if (objects === undefined) return undefined
          const found = objects.peekAll(branchDatabases).find(({ metadata }) => metadata.labels?.[branchIdLabel] === id)
          const phase = found === undefined ? "gone" : (phaseOfBranch(found) ?? "new")
          return { holds: phase === wanted, found: `it is ${phase}` }
        }
      })
  },
  child: howMany("child <cluster> <n>", (world, cluster) => allOf(world.cluster(cluster), "child").length),
  agents: howMany("agents <cluster> <n>", (world, cluster) => world.cluster(cluster).kubelet.agents.length),
  log: {
    usage: "log <session> <words…>",
    read: ([first, ...rest]) =>
      Result.gen(function* () {
        const session = yield* nameWord(first, "a session's name")
        const words = yield* someText(rest, "what the log says")
        return (world) => {
          const client = world.clients.get(session)
          if (client === undefined) return undefined
          return {
            holds: client.logs.some((line) => line.includes(words)),
            found: `its log says ${client.logs.join(" / ") || "nothing"}`
          }
        }
      })
  },
  nothing: {
    usage: "nothing left",
    read: ([first, ...rest]) =>
      Result.gen(function* () {
        yield* oneOf(first, ["left"])
        yield* nothingMore(rest)
        return (world) => {
          const left = [...world.clusters.values()].flatMap((cluster) => [
            ...(["parent", "child"] as const).flatMap((kind) =>
              allOf(cluster, kind).map(({ metadata }) => `${kind} ${metadata.name} in ${cluster.name}`)
            ),
            ...allOf(cluster, "job").map(({ metadata }) => `job ${metadata.name} in ${cluster.name}`),
            ...cluster.server.objects
              .peekAll(branchDatabases)
              .map(({ metadata }) => `branch ${metadata.name} in ${cluster.name}`),
            ...cluster.kubelet.copies.map(({ metadata }) => `copy ${metadata.name} in ${cluster.name}`),
            ...cluster.kubelet.agents.map(({ name }) => `agent ${name} in ${cluster.name}`)
          ])
          return { holds: left.length === 0, found: `there are ${left.join(", ")}` }
        }
      })
  }
}

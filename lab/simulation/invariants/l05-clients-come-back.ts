/**
 * L5 (failures.md §2.5). A connected client loses its session only after a fault; after the story's first fault every
 * loss counts as explained until the world has settled. A client that asks while nothing is wrong, and until its answer
 * nothing goes wrong, is not refused for good. A client that joins a session of worse times shares its fate.
 */

import { defaultLeaseTimes } from "../../../src/domain/leadership/lease-times.ts"
import { leases } from "../../../src/domain/resources/core-kinds.ts"
import { operatorNamespace } from "../world/operator-replica.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { World } from "../world/world.ts"
import { isHopeless, workloadsFor } from "./hopeless.ts"
import type { Invariant } from "./invariant.ts"
import { waitsForEver } from "./waits-for-ever.ts"

/** Ends that only a fault explains. */
const losses: ReadonlySet<string> = new Set([
  "wire.md §6.14",
  "wire.md §5.4",
  "operator-api.md §8.6",
  "operator-api.md §8.7"
])
/** Answers to a first connect that tell the user what is wrong with the request itself. */
const answersOfSubstance: ReadonlySet<number> = new Set([400, 403, 404, 409, 410])
/** A refusal that says of a sound request that its session does not come about. */
const tooLate = /did not become usable in time/u

/** Whether a copy over many clusters is wanted of a workload that a cluster does not have. */
const isOfNothing = (world: World, client: SimClient): boolean => {
  const { isOfOneCluster, wish } = client
  return (
    wish !== undefined &&
    !isOfOneCluster &&
    workloadsFor(world, client).some(({ kubelet }) => !kubelet.hasWorkload(wish.kind, wish.name))
  )
}

/**
 * Whether the leader of an elected operator may not act yet, because it could not renew its Lease for a while. In such
 * a time a primary has taken the cluster for lost.
 */
const isLeaseLate = (world: World): boolean =>
  [...world.clusters.values()].some(({ host, server }) => {
    const lease = host.isElected ? server.objects.peek(leases, "mirrord-operator", operatorNamespace) : undefined
    const { renewTime } = (lease?.["spec"] ?? {}) as { readonly renewTime?: string }
    return renewTime !== undefined && world.now - Date.parse(renewTime) > defaultLeaseTimes.renewDeadline
  })

/**
 * How long a primary lists a member that dials out after it has left, ms. Its tunnel has ended at once, as it should:
 * where all clusters are needed, sessions are refused with that reason until the primary has read its files.
 */
const leavesWithin = 7_000

/** How long after the start of an operator a member that dials out may not have been heard yet, ms. */
const heardWithin = 5_000

/** The troubles and changes until now. */
interface Before {
  isFaulty: boolean
  /** Until when a primary may list a member that has left. */
  leavesUntil: number
  /** Until when a member that dials out may not have been heard yet. */
  dialsUntil: number
}

/** Whether a client that asks now may be refused by what was wrong, or is. */
const isExcused = (world: World, client: SimClient, { dialsUntil, isFaulty, leavesUntil }: Before): boolean => {
  const { isWell, makers, now, plan } = world
  // An ephemeral agent that hung in a fault keeps its place until it has ended, which takes a minute. And a copy over
  // many clusters is not waited for until the primary has seen that its default is well, at first or again.
  const isSlow = plan.ephemeralAgents.length > 0 || (client.wish !== undefined && !client.isOfOneCluster)
  const isLeaving = now < leavesUntil && plan.sessionStart === "all"
  return !isWell || isLeaving || isLeaseLate(world) || makers.isAwaited || ((isFaulty || now < dialsUntil) && isSlow)
}

export const clientsComeBack: Invariant = {
  id: "L5",
  sentence:
    "A client that keeps trying is connected again, or is told that its session is over; who asks while nothing " +
    "is wrong is not refused.",
  begin: (world) => {
    const before: Before = { isFaulty: false, leavesUntil: -Infinity, dialsUntil: -Infinity }
    /** Whether connections have died without a word. */
    let isSilenced = false
    const refusals = new Map<string, number | undefined>()
    /** Clients that wait for the answer to a connect request, and since whose first request nothing has been wrong. */
    const hopeful = new Set<string>()
    const known = new Set<string>()
    /** Sessions that a fault may have touched. */
    const troubled = new Set<bigint>()
    const trouble = (): void => {
      before.isFaulty = true
      hopeful.clear()
      for (const client of known) troubled.add(world().client(client).sessionId)
    }
    /** Whether a refusal says what is wrong with the request itself. */
    const isAnswer = (client: string): boolean => {
      const code = refusals.get(client)
      return code === undefined ? isOfNothing(world(), world().client(client)) : answersOfSubstance.has(code)
    }
    return {
      on: {
        ClientAsks: ({ client: name }) => {
          if (known.has(name)) return
          known.add(name)
          const client = world().client(name)
          if (isExcused(world(), client, before)) troubled.add(client.sessionId)
          if (!troubled.has(client.sessionId)) hopeful.add(name)
        },
        Fault: ({ at, kind }) => {
          trouble()
          isSilenced ||= kind === "half-open"
          if (kind === "cluster removed" && world().outbound !== undefined) before.leavesUntil = at + leavesWithin
        },
        Operator: ({ at, change }) => {
          if (change !== "started") trouble()
          else if (world().outbound !== undefined) before.dialsUntil = at + heardWithin
        },
        ClientRefused: ({ client, code, message }) => {
          refusals.set(client, tooLate.test(message) ? undefined : code)
        },
        ClientEnded: ({ client, message, rule }) => {
          if (rule === undefined || isHopeless(world(), world().clients.get(client))) return undefined
          if (losses.has(rule))
            return before.isFaulty || world().faultPlans.length > 0
              ? undefined
              : `${client} lost its session although nothing was wrong: ${message}.`
          return rule !== "operator-api.md §7.5" || !hopeful.has(client) || isAnswer(client)
            ? undefined
            : `${client} was refused although nothing was wrong: ${message}.`
        }
      },
      atRest: (moment) => {
        before.isFaulty = false
        if (moment === "left") return []
        return [...world().clients.values()].flatMap((client) =>
          client.ended !== undefined ||
          client.isServing ||
          (isSilenced && waitsForEver(client)) ||
          isHopeless(world(), client)
            ? []
            : [`${client.name} is neither connected nor was it told that its session is over.`]
        )
      }
    }
  }
}

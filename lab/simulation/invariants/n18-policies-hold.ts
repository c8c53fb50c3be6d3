/**
 * N18 (failures.md §3.19, §4.34). Policies act within a moment of their making, change or end: looked at after a quiet
 * time in which nothing was wrong anywhere, so that each operator has heard of them. Of policies for one target alone
 * those are looked at that are for a workload which owns its pods here: they hold at each of these pods, whichever
 * target leads to it. The others are left to the tests of policies. Whether a refusal is answered at all is S4.
 */

import { asString, at } from "../../../src/domain/json.ts"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { clientTag } from "../../../src/domain/protocol/peek.ts"
import { mirrordClusterPolicies } from "../../../src/domain/resources/policies/mirrord-policies.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { TimedEvent } from "../world/world-event.ts"
import type { SimCluster, World } from "../world/world.ts"
import type { Invariant } from "./invariant.ts"

/** How long nothing may have been wrong, and a policy have been as it is, before it must act, ms. */
const calm = 15_000
/** Interval of checks whether something is wrong, ms. */
const checkInterval = 1_000

type Rule = "steal" | "steal-without-filter" | "mirror" | "profile" | "copy-target-scale-down"

interface Known {
  readonly cluster: string
  readonly name: string
  readonly rules: ReadonlySet<Rule>
  /** The only target that it is for, as `kind/name`. */
  readonly target: string | undefined
  /** Whether it holds for sessions on copies. */
  readonly isForCopies: boolean
  /** Since when it is so, or since when it is deleted, ms. */
  readonly since: number
  readonly isDeleted: boolean
}

const rulesOf = (policy: KubeObject): ReadonlySet<Rule> => {
  const { block, requireProfile } = policy["spec"] as {
    readonly block: ReadonlyArray<Rule>
    readonly requireProfile: boolean
  }
  return new Set(requireProfile ? [...block, "profile"] : block)
}

/** Rules that a message to an agent falls under. */
const askedFor = (bytes: Uint8Array): ReadonlyArray<Rule> => {
  const tag = clientTag(bytes)
  if (tag !== "Tcp" && tag !== "TcpSteal") return []
  const decoded = clientMessage.decode(bytes)
  if (decoded._tag !== "Decoded") return []
  const { value: message } = decoded
  if (message._tag === "Tcp") return message.value._tag.startsWith("PortSubscribe") ? ["mirror"] : []
  if (message._tag !== "TcpSteal" || message.value._tag !== "PortSubscribe") return []
  return message.value.value._tag === "All" ? ["steal", "steal-without-filter"] : ["steal"]
}

/** The pod that an agent works on: of the target, or a copy that a user of its cluster or a primary has asked for. */
type Site = "Target" | "Copy" | "FleetCopy"

/** A place where an agent works. */
interface Place {
  readonly cluster: string
  readonly site: Site
  /** The owner of its pod, as `kind/name`. */
  readonly owner: string | undefined
}

/** The policies of its own cluster hold for an agent, and those of the primary where it serves sessions over many. */
const holdsAt = ({ cluster, isForCopies, target }: Known, world: World, place: Place): boolean => {
  if (target !== undefined) return target === place.owner && cluster === place.cluster
  return (
    (place.site === "Target" || isForCopies) &&
    (cluster === place.cluster || (place.site !== "Copy" && cluster === world.primary.name))
  )
}

const siteOf = (world: World, { kubelet, name: cluster }: SimCluster, containerId: string | undefined): Site => {
  const copy = kubelet.copies.find(({ metadata }) => containerId?.startsWith(`${metadata.name}-`) === true)
  if (copy === undefined) return "Target"
  const { annotations, name } = copy.metadata
  const isOrdered = annotations?.["operator.metalbear.co/copy-target"]?.includes('"primary":') === true
  // A user of the cluster finds the copy there that the same user's primary has ordered.
  const isShared = [...world.clients.values()].some(
    ({ copy: used, home, isOfOneCluster }) => isOfOneCluster && home === cluster && used === name
  )
  return isOrdered && !isShared ? "FleetCopy" : "Copy"
}

const placeOf = (world: World, cluster: SimCluster, containerId: string | undefined): Place => ({
  cluster: cluster.name,
  site: siteOf(world, cluster, containerId),
  owner: cluster.kubelet.ownerOf(containerId)
})

/** Ports that the agents of a cluster give to clients, in the words of policies. */
const given = (world: World, cluster: SimCluster) =>
  cluster.kubelet.agents.flatMap(({ agent: { subscriptions }, containerId, name }) => {
    const place = placeOf(world, cluster, containerId)
    const steals = [...subscriptions.steals].map(([port, { _tag }]) => ({
      name,
      port,
      place,
      rules: _tag === "Unfiltered" ? (["steal", "steal-without-filter"] as const) : (["steal"] as const)
    }))
    const mirrors = [...subscriptions.mirrors.keys()].map((port) => ({
      name,
      port,
      place,
      rules: ["mirror"] as const
    }))
    return [...steals, ...mirrors]
  })

/** Whether a policy of the deciding cluster lets the session not be. */
const refuses = ({ isForCopies, rules, target }: Known, { wish }: SimClient): boolean =>
  target === undefined &&
  ((rules.has("profile") && (isForCopies || wish === undefined)) ||
    (rules.has("copy-target-scale-down") && wish?.scaleDown === true))

/** Rules of the operator itself, which are no objects. */
const ownRules: ReadonlySet<string> = new Set(["targetless", "ephemeral agents"])

/** Names of policies in a sentence for a user. */
const named = (message: string): ReadonlyArray<string> =>
  /(mirrord|blocked by) polic/u.test(message)
    ? [...message.matchAll(/["`]([^"`]+)["`]/gu)].flatMap(([, name]) => name ?? [])
    : []

export const policiesHold: Invariant = {
  id: "N18",
  sentence:
    "Nothing that a policy forbids reaches an agent or begins a session, and a policy that is gone forbids nothing.",
  begin: (world) => {
    /** By cluster and name; deleted ones too. */
    const policies = new Map<string, Known>()
    let wellSince: number | undefined
    let checkAt = -Infinity
    const inForce = (now: number): ReadonlyArray<Known> =>
      [...policies.values()].filter(({ isDeleted, since }) => !isDeleted && now - since >= calm)
    /** A refusal that names a policy must have one that was there a moment ago. */
    const groundless = (names: ReadonlyArray<string>, now: number): string | undefined =>
      names.find(
        (name) =>
          !ownRules.has(name) &&
          [...policies.values()]
            .filter((policy) => policy.name === name)
            .every(({ isDeleted, since }) => isDeleted && now - since >= calm)
      )
    const forbidden = (event: TimedEvent): string | undefined => {
      const theWorld = world()
      switch (event._tag) {
        case "AgentHeard": {
          const rules = askedFor(event.bytes)
          if (rules.length === 0) return undefined
          const cluster = theWorld.cluster(event.cluster)
          const agent = cluster.kubelet.agents.find(({ name }) => name === event.agent)
          const place = placeOf(theWorld, cluster, agent?.containerId)
          const broken = inForce(event.at).find(
            (policy) => holdsAt(policy, theWorld, place) && rules.some((rule) => policy.rules.has(rule))
          )
          return broken === undefined
            ? undefined
            : `Agent ${event.agent} in ${event.cluster} hears what policy ${broken.name} of ${broken.cluster} forbids.`
        }
        case "ClientConnected": {
          const client = theWorld.clients.get(event.client)
          if (client === undefined) return undefined
          const broken = inForce(event.at).find((policy) => policy.cluster === client.home && refuses(policy, client))
          return broken === undefined
            ? undefined
            : `${event.client} is connected, and policy ${broken.name} of ${broken.cluster} forbids it.`
        }
        case "ClientRefused": {
          const name = groundless(named(event.message), event.at)
          return name === undefined
            ? undefined
            : `${event.client} is refused by policy ${name}, which is gone: ${event.message}`
        }
        case "ClientEvent": {
          const { event: what } = event
          if (what._tag !== "Subscribed" || what.result._tag === "Ok") return undefined
          const { error } = what.result
          if (error._tag !== "ForbiddenWithReason") return undefined
          const policy = error.policyName ?? undefined
          if (error.reason === "" || policy === undefined)
            return `${event.client} is refused port ${what.port} without a reason.`
          const name = groundless([policy], event.at)
          return name === undefined
            ? undefined
            : `${event.client} is refused port ${what.port} by policy ${name}, which is gone.`
        }
        default:
          return undefined
      }
    }
    return {
      on: (event) => {
        switch (event._tag) {
          case "Committed": {
            const { after, before, ref } = event.commit
            if (ref.plural !== mirrordClusterPolicies.plural) return undefined
            const object = after ?? before
            if (object === undefined) return undefined
            const { name } = object.metadata
            policies.set(`${event.cluster} ${name}`, {
              cluster: event.cluster,
              name,
              rules: rulesOf(object),
              target: asString(at(object, "spec", "targetPath")),
              isForCopies: at(object, "spec", "appliesToCopyTargets") === true,
              since: event.at,
              isDeleted: after === undefined
            })
            return undefined
          }
          case "AgentHeard":
          case "ClientConnected":
          case "ClientRefused":
          case "ClientEvent":
            break
          case "Fault":
          case "Operator":
            wellSince = undefined
            return undefined
          default:
            if (policies.size === 0 || event.at < checkAt) return undefined
            checkAt = event.at + checkInterval
            wellSince = world().isWell ? (wellSince ?? event.at) : undefined
            return undefined
        }
        if (policies.size === 0 || wellSince === undefined || event.at - wellSince < calm) return undefined
        return world().isWell ? forbidden(event) : undefined
      },
      atRest: () => {
        const theWorld = world()
        const acting = inForce(theWorld.now).filter(({ cluster }) => !theWorld.cluster(cluster).host.isGone)
        if (acting.length === 0) return []
        return [...theWorld.clusters.values()].flatMap((cluster) =>
          given(theWorld, cluster).flatMap(({ name, place, port, rules }) =>
            acting.flatMap((policy) =>
              holdsAt(policy, theWorld, place) && rules.some((rule) => policy.rules.has(rule))
                ? [
                    `Agent ${name} in ${cluster.name} gives port ${port}, which policy ${policy.name} of ` +
                      `${policy.cluster} forbids.`
                  ]
                : []
            )
          )
        )
      }
    }
  }
}

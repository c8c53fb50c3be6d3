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
import { stealFilter } from "../../agent/incoming/steal-filter.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { TimedEvent } from "../world/world-event.ts"
import type { SimCluster, World } from "../world/world.ts"
import type { EventOf, Invariant } from "./invariant.ts"

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

/** A port that is asked for, or given, and the rules that this falls under. */
interface Use {
  readonly port: number
  readonly rules: ReadonlyArray<Rule>
}

/** The port that a message to an agent asks for. */
const askedFor = (bytes: Uint8Array): Use | undefined => {
  const tag = clientTag(bytes)
  if (tag !== "Tcp" && tag !== "TcpSteal") return undefined
  const decoded = clientMessage.decode(bytes)
  if (decoded._tag !== "Decoded") return undefined
  const { value: message } = decoded
  if (message._tag === "Tcp") {
    if (message.value._tag === "PortSubscribe") return { port: message.value.value, rules: ["mirror"] }
    return message.value._tag === "PortSubscribeFilteredHttp"
      ? { port: message.value.port, rules: ["mirror"] }
      : undefined
  }
  if (message._tag !== "TcpSteal" || message.value._tag !== "PortSubscribe") return undefined
  const { filter, port } = stealFilter(message.value.value)
  return { port, rules: filter === undefined ? ["steal", "steal-without-filter"] : ["steal"] }
}

/** The pod that an agent works on: of the target, or a copy that a user of its cluster or a primary has asked for. */
type Site = "Target" | "Copy" | "FleetCopy"

/** A place where an agent works. */
interface Place {
  readonly cluster: string
  readonly site: Site
  /** Whether the port is one of sessions of this cluster alone, which begin at its own operator. */
  readonly isOfOneCluster: boolean
  /** The owner of its pod, as `kind/name`. */
  readonly owner: string | undefined
}

/**
 * The policies of its own cluster hold for an agent, and those of the primary where it serves sessions over many. A
 * session that begins at a member's own operator is none of the primary's, which does not hear of it.
 */
const holdsAt = ({ cluster, isForCopies, target }: Known, world: World, place: Place): boolean => {
  if (target !== undefined) return target === place.owner && cluster === place.cluster
  return (
    (place.site === "Target" || isForCopies) &&
    (cluster === place.cluster || (place.site !== "Copy" && !place.isOfOneCluster && cluster === world.primary.name))
  )
}

/** Whether no session over many clusters has this port, and one of this cluster alone has it. */
const isOfOneCluster = (world: World, cluster: string, port: number): boolean => {
  const using = [...world.clients.values()].filter(
    ({ ended, home, isOfOneCluster: isAlone, state }) =>
      ended === undefined && state.subscriptions.has(port) && (!isAlone || home === cluster)
  )
  return using.length > 0 && using.every((client) => client.isOfOneCluster)
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

const placeOf = (world: World, cluster: SimCluster, containerId: string | undefined, port: number): Place => ({
  cluster: cluster.name,
  site: siteOf(world, cluster, containerId),
  isOfOneCluster: isOfOneCluster(world, cluster.name, port),
  owner: cluster.kubelet.ownerOf(containerId)
})

/** Ports that the agents of a cluster give to clients, in the words of policies. */
const given = (world: World, cluster: SimCluster) =>
  cluster.kubelet.agents.flatMap(({ agent: { subscriptions }, containerId, name }) => {
    const place = (port: number): Place => placeOf(world, cluster, containerId, port)
    const steals = [...subscriptions.steals].map(([port, { _tag }]) => ({
      name,
      port,
      place: place(port),
      rules: _tag === "Unfiltered" ? (["steal", "steal-without-filter"] as const) : (["steal"] as const)
    }))
    const mirrors = [...subscriptions.mirrors.keys()].map((port) => ({
      name,
      port,
      place: place(port),
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

const forbids = (policy: Known, world: World, place: Place, rules: ReadonlyArray<Rule>): boolean =>
  holdsAt(policy, world, place) && rules.some((rule) => policy.rules.has(rule))

/** The policies of a story, deleted ones too. */
class Policies {
  /** By cluster and name. */
  readonly #known = new Map<string, Known>()

  get isEmpty(): boolean {
    return this.#known.size === 0
  }

  note({ at: since, cluster, commit: { after, before, ref } }: EventOf<"Committed">): void {
    const object = after ?? before
    if (ref.plural !== mirrordClusterPolicies.plural || object === undefined) return
    const { name } = object.metadata
    this.#known.set(`${cluster} ${name}`, {
      cluster,
      name,
      rules: rulesOf(object),
      target: asString(at(object, "spec", "targetPath")),
      isForCopies: at(object, "spec", "appliesToCopyTargets") === true,
      since,
      isDeleted: after === undefined
    })
  }

  /** Those that must act by now. */
  inForce(now: number): ReadonlyArray<Known> {
    return [...this.#known.values()].filter(({ isDeleted, since }) => !isDeleted && now - since >= calm)
  }

  broken(now: number, world: World, place: Place, rules: ReadonlyArray<Rule>): Known | undefined {
    return this.inForce(now).find((policy) => forbids(policy, world, place, rules))
  }

  /** A refusal that names a policy must have one that was there a moment ago; the name without one. */
  groundless(names: ReadonlyArray<string>, now: number): string | undefined {
    return names.find(
      (name) =>
        !ownRules.has(name) &&
        [...this.#known.values()]
          .filter((policy) => policy.name === name)
          .every(({ isDeleted, since }) => isDeleted && now - since >= calm)
    )
  }
}

/** Ports that agents give although one of these policies forbids it. */
const givenAgainst = (world: World, policies: ReadonlyArray<Known>): ReadonlyArray<string> => {
  const acting = policies.filter(({ cluster }) => !world.cluster(cluster).host.isGone)
  if (acting.length === 0) return []
  return [...world.clusters.values()].flatMap((cluster) =>
    given(world, cluster).flatMap(({ name, place, port, rules }) =>
      acting
        .filter((policy) => forbids(policy, world, place, rules))
        .map(
          (policy) =>
            `Agent ${name} in ${cluster.name} gives port ${port}, which policy ${policy.name} of ${policy.cluster} ` +
            "forbids."
        )
    )
  )
}

/** Events that are judged, or disturb: the world is looked at with all others. */
const withoutALook: ReadonlySet<TimedEvent["_tag"]> = new Set([
  "AgentHeard",
  "ClientConnected",
  "ClientRefused",
  "ClientEvent",
  "Committed",
  "Fault",
  "Operator"
] as const)

export const policiesHold: Invariant = {
  id: "N18",
  sentence:
    "Nothing that a policy forbids reaches an agent or begins a session, and a policy that is gone forbids nothing.",
  begin: (world) => {
    const policies = new Policies()
    let wellSince: number | undefined
    let checkAt = -Infinity
    const disturb = (): void => {
      wellSince = undefined
    }
    /** Judges an event only after a quiet time in which nothing was wrong. */
    const inCalm =
      <E extends TimedEvent>(judge: (event: E) => string | undefined) =>
      (event: E): string | undefined => {
        const isCalm = !policies.isEmpty && wellSince !== undefined && event.at - wellSince >= calm
        return isCalm && world().isWell ? judge(event) : undefined
      }
    return {
      each: ({ _tag, at: now }) => {
        if (policies.isEmpty || now < checkAt || withoutALook.has(_tag)) return
        checkAt = now + checkInterval
        wellSince = world().isWell ? (wellSince ?? now) : undefined
      },
      on: {
        Fault: disturb,
        Operator: disturb,
        Committed: (event) => policies.note(event),
        AgentHeard: inCalm(({ agent: name, at: now, bytes, cluster: home }) => {
          const use = askedFor(bytes)
          if (use === undefined) return undefined
          const { port, rules } = use
          const cluster = world().cluster(home)
          const agent = cluster.kubelet.agents.find((one) => one.name === name)
          const broken = policies.broken(now, world(), placeOf(world(), cluster, agent?.containerId, port), rules)
          return broken === undefined
            ? undefined
            : `Agent ${name} in ${home} hears what policy ${broken.name} of ${broken.cluster} forbids.`
        }),
        ClientConnected: inCalm(({ at: now, client: name }) => {
          const client = world().clients.get(name)
          const broken = policies
            .inForce(now)
            .find((policy) => client !== undefined && policy.cluster === client.home && refuses(policy, client))
          return broken === undefined
            ? undefined
            : `${name} is connected, and policy ${broken.name} of ${broken.cluster} forbids it.`
        }),
        ClientRefused: inCalm(({ at: now, client, message }) => {
          const name = policies.groundless(named(message), now)
          return name === undefined ? undefined : `${client} is refused by policy ${name}, which is gone: ${message}`
        }),
        ClientEvent: inCalm(({ at: now, client, event }) => {
          if (event._tag !== "Subscribed" || event.result._tag === "Ok") return undefined
          const { error } = event.result
          if (error._tag !== "ForbiddenWithReason") return undefined
          const what = `${client} is refused port ${event.port}`
          const policy = error.policyName ?? undefined
          if (error.reason === "" || policy === undefined) return `${what} without a reason.`
          const name = policies.groundless([policy], now)
          return name === undefined ? undefined : `${what} by policy ${name}, which is gone.`
        })
      },
      atRest: () => givenAgainst(world(), policies.inForce(world().now))
    }
  }
}

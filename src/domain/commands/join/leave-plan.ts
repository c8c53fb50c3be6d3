/**
 * Decides what is removed when a cluster leaves the fleet of a primary, in which order, and what stays behind.
 *
 * Not here: removing it (app/commands/join).
 */

import * as Result from "effect/Result"
import { clusterName, clusterSlug, type Sha256Hex } from "../../fleet/cluster-name.ts"
import type { FleetConfiguration } from "../../fleet/configuration.ts"
import { needsRestart } from "../../fleet/difference.ts"
import { type FleetDocuments, parseFleetConfiguration } from "../../fleet/parse-configuration.ts"
import type { ProvidedCluster } from "../../fleet/provided-clusters.ts"
import type { JsonObject } from "../../json.ts"
import { primaryLeaseName } from "../../sessions/primary-claim.ts"
import { withoutEntry } from "./clusters-list.ts"

/** The cluster itself, as far as a person reaches it. */
export type LeavingMember =
  | {
      readonly _tag: "Reached"
      /** UID of the cluster; `undefined` if it may not be read. */
      readonly uid: string | undefined
      /** UID of the primary that it serves; `undefined` while it serves none. */
      readonly holder: string | undefined
    }
  /** `why`: a sentence. */
  | { readonly _tag: "Unreached"; readonly why: string }

/** All that the decision depends on. */
export interface LeaveFacts {
  readonly name: string
  readonly documents: FleetDocuments
  readonly provided: ReadonlyArray<ProvidedCluster>
  /** Names of the sessions that use the cluster. */
  readonly sessions: ReadonlyArray<string>
  /** Names of its Secrets that are there. */
  readonly secrets: ReadonlyArray<string>
  /** UIDs of clusters, by their slugs. */
  readonly pins: ReadonlyMap<string, string>
  /** UID of the primary's own cluster; `undefined` if it may not be read. */
  readonly own: string | undefined
  readonly member: LeavingMember
  /** Namespace of the operator in the member. */
  readonly memberNamespace: string
  /** The Helm release of the primary, if there is one. */
  readonly release: string | undefined
  /** Whether it leaves although something stays behind. */
  readonly force: boolean
}

export type LeaveStep =
  /** The list of clusters becomes this one. */
  | { readonly _tag: "RemoveEntry"; readonly clusters: JsonObject }
  | { readonly _tag: "DeleteSecret"; readonly secret: string }
  | { readonly _tag: "Unpin"; readonly slug: string }
  /** The member is free for another primary. */
  | { readonly _tag: "FreeMember" }

export type LeavePlan =
  /** Each problem is a sentence with cause and cure. */
  | { readonly _tag: "Refused"; readonly problems: ReadonlyArray<string> }
  /** `left`: sentences about all that stays behind, and the cure. */
  | { readonly _tag: "Leave"; readonly steps: ReadonlyArray<LeaveStep>; readonly left: ReadonlyArray<string> }

/** The most names in a sentence. */
const maxNames = 5

const listed = (names: ReadonlyArray<string>): string =>
  names.length <= maxNames
    ? names.join(", ")
    : `${names.slice(0, maxNames).join(", ")} and ${names.length - maxNames} more`

const isHere = ({ name }: LeaveFacts, fleet: FleetConfiguration): boolean =>
  fleet.members.some((member) => member.name === name)

/** Reasons that no force overcomes. */
const refusals = (facts: LeaveFacts, fleet: FleetConfiguration, slug: string): ReadonlyArray<string> => {
  const { member, name, own, pins, provided } = facts
  const found = provided.find((cluster) => cluster.name === name)
  if (name === fleet.clusterName) return [`Cluster ${name} is the primary itself, which cannot leave its fleet.`]
  if (found !== undefined && !isHere(facts, fleet))
    return [`Cluster ${name} is found by ${found.from}; it leaves the fleet when that is deleted.`]
  if (fleet.defaultCluster === name)
    return [
      `Cluster ${name} is the default cluster; first name another one in operator.multiCluster.defaultCluster and ` +
        "upgrade the release."
    ]
  if (member._tag === "Unreached" || member.uid === undefined) return []
  const { uid } = member
  const pinned = pins.get(slug)
  const other = [...pins].find(([key, one]) => key !== slug && one === uid)?.[0]
  const isWrong = uid === own || other !== undefined || (pinned !== undefined && pinned !== uid)
  const ofMember = other === undefined ? `not ${pinned}` : `as that of ${other}`
  const whose = uid === own ? "as that of the primary" : ofMember
  return isWrong
    ? [
        `The context leads to another cluster than ${name}: the UID of its namespace kube-system is ${uid}, ` +
          `${whose}; choose the right one with --member-context.`
      ]
    : []
}

/** Reasons that force overcomes: each says what would stay behind. */
const doubts = ({ member, name, sessions }: LeaveFacts): ReadonlyArray<string> => [
  ...(sessions.length === 0
    ? []
    : [
        `${sessions.length === 1 ? "A session uses" : `${sessions.length} sessions use`} cluster ${name}: ` +
          `${listed(sessions)}; end them with braid sessions stop, or let them go on without it with --force.`
      ]),
  ...(member._tag === "Reached"
    ? []
    : [`${member.why} --force leaves the cluster as it is, with its Lease ${primaryLeaseName}.`])
]

const stepsOf = (facts: LeaveFacts, fleet: FleetConfiguration, slug: string): ReadonlyArray<LeaveStep> => {
  const { documents, member, name, own, pins, secrets } = facts
  const list = documents.clusters._tag === "Parsed" ? documents.clusters.value : undefined
  const isOurs = member._tag === "Reached" && member.holder !== undefined && member.holder === own
  return [
    ...(isHere(facts, fleet) ? [{ _tag: "RemoveEntry", clusters: withoutEntry(list, name) } as const] : []),
    ...secrets.map((secret) => ({ _tag: "DeleteSecret", secret }) as const),
    ...(pins.has(slug) ? [{ _tag: "Unpin", slug } as const] : []),
    ...(isOurs ? [{ _tag: "FreeMember" } as const] : [])
  ]
}

const leftBehind = (
  { member, memberNamespace, name, own, release, sessions }: LeaveFacts,
  before: FleetConfiguration,
  after: FleetConfiguration
): ReadonlyArray<string> => {
  const deleteLease = `kubectl delete lease ${primaryLeaseName} -n ${memberNamespace}`
  const isUnknown = member._tag === "Reached" && member.holder !== undefined && own === undefined
  return [
    ...(sessions.length === 0
      ? []
      : [`Sessions go on without cluster ${name}, and their parts there end by themselves: ${listed(sessions)}.`]),
    ...(member._tag === "Unreached" || isUnknown
      ? [`If cluster ${name} serves this primary, it goes on to refuse others until \`${deleteLease}\` there.`]
      : []),
    ...(needsRestart(before, after).length === 0
      ? []
      : ["The operator takes the change up with a restart: kubectl rollout restart deployment/mirrord-operator."]),
    ...(release === undefined
      ? []
      : [
          `The values of the primary's release ${release} may still have operator.multiCluster.clusters.${name}: ` +
            "take it out, or the next upgrade brings the cluster back."
        ]),
    `The rights of primaries in cluster ${name} stay until its release has operator.multiClusterMember: false.`
  ]
}

/** The same facts give the same plan; a plan that was carried out is followed by one without steps. */
export const planLeave = (facts: LeaveFacts, sha256Hex: Sha256Hex): LeavePlan => {
  const { documents, force, name } = facts
  const slug = clusterSlug(clusterName(name), sha256Hex)
  const before = parseFleetConfiguration(documents, sha256Hex)
  if (Result.isFailure(before)) return { _tag: "Refused", problems: before.failure.map(({ message }) => message) }
  const problems = refusals(facts, before.success, slug)
  const steps = stepsOf(facts, before.success, slug)
  const doubtful = force || steps.length === 0 ? [] : doubts(facts)
  if (problems.length > 0 || doubtful.length > 0) return { _tag: "Refused", problems: [...problems, ...doubtful] }
  if (steps.length === 0) return { _tag: "Leave", steps, left: [] }
  const [entry] = steps
  const clusters = entry?._tag === "RemoveEntry" ? ({ _tag: "Parsed", value: entry.clusters } as const) : undefined
  const after = clusters === undefined ? before : parseFleetConfiguration({ ...documents, clusters }, sha256Hex)
  return Result.isFailure(after)
    ? { _tag: "Refused", problems: after.failure.map(({ message }) => message) }
    : { _tag: "Leave", steps, left: leftBehind(facts, before.success, after.success) }
}

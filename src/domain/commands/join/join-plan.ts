/**
 * Decides whether a cluster may join the fleet of a primary, and how its entry gets to the operator that runs.
 *
 * Not here: its credentials (credentials-step.ts), and writing (app/commands/join).
 */

import * as Equal from "effect/Equal"
import * as Result from "effect/Result"
import { type IdentifiedCluster, judgeIdentity, type ToldIdentity } from "../../fleet/cluster-identity.ts"
import { clusterName, clusterNamesCollide, clusterSlug, type Sha256Hex } from "../../fleet/cluster-name.ts"
import type { FleetConfiguration, MemberConfiguration } from "../../fleet/configuration.ts"
import { needsRestart } from "../../fleet/difference.ts"
import { MistakeList } from "../../fleet/mistakes.ts"
import {
  type ConfigurationDocument,
  type FleetDocuments,
  parseFleetConfiguration
} from "../../fleet/parse-configuration.ts"
import { parseMembers } from "../../fleet/parse-members.ts"
import type { ProvidedCluster } from "../../fleet/provided-clusters.ts"
import type { JsonObject } from "../../json.ts"
import { judgeClaim } from "../../sessions/primary-claim.ts"
import { withEntry } from "./clusters-list.ts"
import { clusterEntry, type JoinRequest, requestProblems, defaultNamespace } from "./join-request.ts"

/** All that the decision depends on. */
export interface JoinFacts {
  readonly request: JoinRequest
  /** The files of the primary. */
  readonly documents: FleetDocuments
  /** Whether the operator that runs has a list of clusters. */
  readonly readsList: boolean
  /** The clusters that the primary finds by itself. */
  readonly provided: ReadonlyArray<ProvidedCluster>
  /** `namespace`: that of the primary's operator. */
  readonly identity: Pick<IdentifiedCluster, "namespace" | "own" | "pins"> & {
    /** UID of the cluster that is to join; `undefined` if it cannot be read. */
    readonly found: string | undefined
  }
  /** UID of the primary that the cluster serves; `undefined` while it serves none. */
  readonly holder: string | undefined
}

/** The way of the entry to the operator that runs. */
export type EntryStep =
  /** It is there. */
  | { readonly _tag: "Kept" }
  /** The list of clusters becomes this one. */
  | { readonly _tag: "Add"; readonly clusters: JsonObject }
  /** Only an upgrade of the release brings it. `why`: a clause. */
  | { readonly _tag: "Upgrade"; readonly why: string }

export type JoinPlan =
  /** Each problem is a sentence with cause and cure. */
  | { readonly _tag: "Refused"; readonly problems: ReadonlyArray<string> }
  | {
      readonly _tag: "Join"
      readonly member: MemberConfiguration
      readonly entry: EntryStep
      /** Whether the fleet has no default cluster, so that this one may be it. */
      readonly lacksDefault: boolean
    }

const refused = (...problems: ReadonlyArray<string>): JoinPlan => ({ _tag: "Refused", problems })

const valueOf = (document: ConfigurationDocument): unknown => (document._tag === "Parsed" ? document.value : undefined)

/** The member as its entry alone describes it; `undefined` if the entry cannot be read. */
const wantedMember = (request: JoinRequest): MemberConfiguration | undefined =>
  parseMembers({ clusters: [clusterEntry(request)] }, new MistakeList("")).entries[0]?.member

const address = ({ server = "" }: MemberConfiguration): string => server.replace(/\/$/u, "")
const namespaceOf = ({ namespace }: MemberConfiguration): string => namespace ?? defaultNamespace
const authority = ({ certificateAuthority }: MemberConfiguration): string | undefined => certificateAuthority?.trim()

/** Fields in which the entry that is there is another one. */
const differences = (known: MemberConfiguration, wanted: MemberConfiguration): ReadonlyArray<string> => [
  ...(address(known) === address(wanted) ? [] : ["server"]),
  ...(namespaceOf(known) === namespaceOf(wanted) ? [] : ["namespace"]),
  ...(authority(known) === authority(wanted) ? [] : ["caData"]),
  ...(Equal.equals(known.auth, wanted.auth)
    ? []
    : [known.auth._tag === wanted.auth._tag ? "region or ids" : "authType"])
]

/** The reason why the name cannot be given, beside those that the configuration has. */
const providedProblem = ({ provided, request }: JoinFacts, sha256Hex: Sha256Hex): string | undefined => {
  const other = provided.find(({ name }) =>
    clusterNamesCollide(clusterName(request.name), clusterName(name), sha256Hex)
  )
  return other === undefined
    ? undefined
    : `The name ${request.name} collides with that of cluster ${other.name}, which is found by ${other.from}; give ` +
        "another name, or delete that."
}

/** The reason why the cluster is not the one that may have this name, or serves another primary. */
const identityProblem = ({ holder, identity, request }: JoinFacts, sha256Hex: Sha256Hex): string | undefined => {
  const name = clusterName(request.name)
  const { found, own } = identity
  const told: ToldIdentity = found === undefined ? { _tag: "Untold" } : { _tag: "Uid", uid: found }
  const verdict = judgeIdentity({ ...identity, found: told, name, slug: clusterSlug(name, sha256Hex) })
  if (verdict._tag === "Refused") return `Cluster ${name} cannot join: ${verdict.message}.`
  const claim = judgeClaim({ primary: own, own: found, holder, mustTell: false, namespace: request.namespace })
  return claim._tag === "Refused" ? `Cluster ${name} cannot join: ${claim.failure.message}.` : undefined
}

const entryStep = (
  { documents, readsList, request }: JoinFacts,
  before: FleetConfiguration,
  after: FleetConfiguration
): EntryStep => {
  if (!readsList)
    return { _tag: "Upgrade", why: "the operator was installed without clusters, and reads no list of them" }
  if (needsRestart(before, after).length > 0)
    return { _tag: "Upgrade", why: "the fleet gets another default cluster, which takes a restart" }
  return { _tag: "Add", clusters: withEntry(valueOf(documents.clusters), clusterEntry(request)) }
}

/** The plan for a cluster that has an entry already. */
const planKnown = (known: MemberConfiguration, wanted: MemberConfiguration, before: FleetConfiguration): JoinPlan => {
  const others = differences(known, wanted)
  return others.length === 0
    ? { _tag: "Join", member: known, entry: { _tag: "Kept" }, lacksDefault: before.defaultCluster === undefined }
    : refused(
        `Cluster ${known.name} is in the fleet already, with another ${others.join(", ")}; change that in ` +
          `operator.multiCluster.clusters.${known.name} and upgrade the release, or first run braid leave ` +
          `${known.name}.`
      )
}

/** The same facts give the same plan; a plan that was carried out is followed by one that keeps all. */
export const planJoin = (facts: JoinFacts, sha256Hex: Sha256Hex): JoinPlan => {
  const { documents, request } = facts
  const mistaken = requestProblems(request)
  if (mistaken.length > 0) return refused(...mistaken)
  if (documents.multiCluster._tag === "Absent")
    return refused(
      "The operator is no primary; set operator.multiCluster.enabled in its values and upgrade the release, or " +
        "choose the primary with --context."
    )
  const before = parseFleetConfiguration(documents, sha256Hex)
  if (Result.isFailure(before)) return refused(...before.failure.map(({ message }) => message))
  const wanted = wantedMember(request)
  const known = before.success.members.find(({ name }) => name === request.name)
  const list = withEntry(valueOf(documents.clusters), clusterEntry(request))
  const after =
    known === undefined
      ? parseFleetConfiguration({ ...documents, clusters: { _tag: "Parsed", value: list } }, sha256Hex)
      : before
  if (Result.isFailure(after)) return refused(...after.failure.map(({ message }) => message))
  const ownProblems = wanted?.problems ?? []
  if (wanted === undefined || ownProblems.length > 0) return refused(...ownProblems)
  const problem = providedProblem(facts, sha256Hex) ?? identityProblem(facts, sha256Hex)
  if (problem !== undefined) return refused(problem)
  if (known !== undefined) return planKnown(known, wanted, before.success)
  return {
    _tag: "Join",
    member: wanted,
    entry: entryStep(facts, before.success, after.success),
    lacksDefault: after.success.defaultCluster === undefined
  }
}

/**
 * Asks an API server which custom resources it serves, and in which versions, by reading its discovery.
 *
 * Not here: what a missing kind means (domain/commands/doctor/examine-cluster.ts).
 */

import { Effect } from "effect"
import type { Answer, KindFact } from "../../../domain/commands/doctor/cluster-facts.ts"
import { at } from "../../../domain/json.ts"
import { customResources } from "../../../domain/resources/custom-resource-definitions.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import type { ClusterProbe } from "../../../ports/cluster-probe.ts"
import type { ExaminedCluster } from "./examined-cluster.ts"
import { concurrency, servedPlurals, textsOfField, valueOf } from "./probe-answer.ts"

type Versions = Answer<ReadonlyArray<string>>

/** The served versions of a group: an answer for each version, or the one answer that stands for all of them. */
type GroupAnswer =
  | { readonly _tag: "Whole"; readonly answer: Versions }
  | { readonly _tag: "ByVersion"; readonly plurals: ReadonlyMap<string, Versions> }

/** Asks for the versions of a group. A group that the cluster does not serve has none. */
const askGroup = Effect.fnUntraced(function* (probe: ClusterProbe, group: string): Effect.fn.Return<GroupAnswer> {
  const listed = yield* probe.request("GET", `/apis/${group}`)
  if (listed.answer._tag === "Refused" && listed.answer.code === 404)
    return { _tag: "Whole", answer: { _tag: "Answered", value: [] } }
  const versions = valueOf(listed, (body) => textsOfField(at(body, "versions"), "version"))
  if (versions._tag !== "Answered") return { _tag: "Whole", answer: versions }
  const plurals = yield* Effect.forEach(versions.value, (version) =>
    Effect.map(
      probe.request("GET", `/apis/${group}/${version}`),
      (result) => [version, valueOf(result, servedPlurals)] as const
    )
  )
  return { _tag: "ByVersion", plurals: new Map(plurals) }
})

/** The versions of its group in which a kind is served. `version`: the version that the operator uses. */
const servedVersions = (group: GroupAnswer, plural: string, version: string): Versions => {
  if (group._tag === "Whole") return group.answer
  // Only an error of this version counts: another version may belong to an operator that is away.
  const wanted = group.plurals.get(version)
  if (wanted !== undefined && wanted._tag !== "Answered") return wanted
  return {
    _tag: "Answered",
    value: [...group.plurals].flatMap(([served, plurals]) =>
      plurals._tag === "Answered" && plurals.value.includes(plural) ? [served] : []
    )
  }
}

/** Asks for every kind that the chart always installs, and every kind without which no session can be served. */
export const askKinds = Effect.fnUntraced(function* (
  probe: ClusterProbe,
  { part, role }: ExaminedCluster
): Effect.fn.Return<ReadonlyArray<KindFact>> {
  const isRequired = (plural: string): boolean =>
    plural === mirrordClusterSessions.plural ||
    (part === "own" && role._tag === "Primary" && plural === mirrordMultiClusterSessions.plural)
  const kinds = customResources.filter(({ installedWith, plural }) => installedWith.length === 0 || isRequired(plural))
  const groups = new Map(
    yield* Effect.forEach(
      new Set(kinds.map(({ group }) => group)),
      (group) => Effect.map(askGroup(probe, group), (answer) => [group, answer] as const),
      { concurrency }
    )
  )
  return kinds.map(({ group, plural, version }) => {
    const answer = groups.get(group)
    return {
      group,
      plural,
      version,
      need: isRequired(plural) ? "required" : "usual",
      served: answer === undefined ? { _tag: "NotAsked" } : servedVersions(answer, plural, version)
    }
  })
})

/**
 * Reads a primary's two configuration files: everything at once, with every mistake.
 *
 * Not here: the values of single fields (configuration-fields.ts), and the entries of the list of clusters
 * (parse-members.ts).
 */

import * as Order from "effect/Order"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { asObject, isObject, type JsonObject } from "../json.ts"
import {
  clusterName,
  clusterNameProblem,
  clusterNamesCollide,
  type ClusterName,
  type Sha256Hex
} from "./cluster-name.ts"
import { primaryFields } from "./configuration-fields.ts"
import {
  defaultSessionTimes,
  type ConfigurationMistake,
  type FleetConfiguration,
  type SessionStart,
  type SessionTimes
} from "./configuration.ts"
import { MistakeList } from "./mistakes.ts"
import { type MemberEntries, type MemberEntry, parseMembers } from "./parse-members.ts"

/**
 * A configuration file after the YAML library: the value, or why it is no YAML. An absent or empty file is no
 * configuration.
 */
export type ConfigurationDocument =
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Unreadable"; readonly reason: string }
  | { readonly _tag: "NotYaml"; readonly reason: string }
  | { readonly _tag: "Parsed"; readonly value: unknown }

/** Name of the file with the settings of the primary itself. */
export const multiClusterFile = "multicluster-config.yaml"
const clustersFile = "clusters-config.yaml"

const isText = Schema.is(primaryFields.clusterName)
const isSeconds = Schema.is(primaryFields.sessionTtlSecs)
const isTruth = Schema.is(primaryFields.managementOnly)
const isSessionStart = Schema.is(primaryFields.sessionStart)

/** The value of a document, with "no YAML" recorded as a mistake. */
export const documentValue = (document: ConfigurationDocument, mistakes: MistakeList): unknown => {
  switch (document._tag) {
    case "Absent":
      return undefined
    case "Unreadable":
      mistakes.add(
        "",
        document.reason,
        "the file cannot be read",
        "mount the ConfigMap that holds it, or unset the variable that names it"
      )
      return undefined
    case "NotYaml":
      mistakes.add("", document.reason, "the file is not YAML", "correct the text at the place that is named")
      return undefined
    case "Parsed":
      return document.value
  }
}

/** The settings of `multicluster-config.yaml`, before they are compared with the list of clusters. */
interface PrimarySettings extends Omit<FleetConfiguration, "members" | "defaultCluster"> {
  /** As written; empty when not set. */
  readonly defaultCluster: string
}

/** `multicluster-config.yaml` while it is read. */
interface PrimaryFile {
  readonly fields: JsonObject
  readonly mistakes: MistakeList
}

const textField = ({ fields, mistakes }: PrimaryFile, field: string): string => {
  const found = fields[field]
  if (found === undefined || found === null) return ""
  if (isText(found)) return found
  mistakes.add(field, found, `${field} must be text`, "write it in quotes")
  return ""
}

/**
 * Seconds that are absent, null or 0 are not set. The fallback is our own: the published template writes 120 for
 * `remoteSessionTimeoutSecs` there (published-chart.md §2.2).
 */
const secondsField = ({ fields, mistakes }: PrimaryFile, field: keyof SessionTimes): number => {
  const found = fields[field]
  const fallback = defaultSessionTimes[field]
  if (found === undefined || found === null || found === 0) return fallback
  if (isSeconds(found)) return found
  mistakes.add(field, found, `${field} must be a whole number of seconds above 0`, `write for example ${fallback}`)
  return fallback
}

const managementOnlyField = ({ fields, mistakes }: PrimaryFile): boolean => {
  const found = fields["managementOnly"]
  if (found === undefined) return true
  if (found === null) return false
  if (isTruth(found)) return found
  mistakes.add("managementOnly", found, "managementOnly must be true or false", "write true or false without quotes")
  return false
}

const sessionStartField = ({ fields, mistakes }: PrimaryFile): SessionStart => {
  const found = fields["sessionStart"]
  if (found === undefined || found === null) return "default"
  if (isSessionStart(found)) return found
  mistakes.add("sessionStart", found, "sessionStart must be default or all", "write default or all")
  return "default"
}

const parsePrimary = (value: unknown, override: boolean | undefined, mistakes: MistakeList): PrimarySettings => {
  if (value !== undefined && value !== null && !isObject(value)) {
    mistakes.add(
      "",
      value,
      "the file must hold a map",
      "write the keys clusterName, defaultCluster, managementOnly, … at its top level"
    )
  }
  const file: PrimaryFile = { fields: asObject(value), mistakes }
  const ownName = textField(file, "clusterName")
  const problem = ownName === "" ? undefined : clusterNameProblem(ownName)
  if (problem !== undefined) mistakes.add("clusterName", ownName, problem, "give this cluster another name")
  return {
    clusterName: clusterName(ownName === "" || problem !== undefined ? "primary" : ownName),
    defaultCluster: textField(file, "defaultCluster"),
    managementOnly: override ?? managementOnlyField(file),
    remoteSessionTimeoutSecs: secondsField(file, "remoteSessionTimeoutSecs"),
    sessionTtlSecs: secondsField(file, "sessionTtlSecs"),
    sessionStart: sessionStartField(file)
  }
}

const checkCollisions = (
  entries: ReadonlyArray<MemberEntry>,
  ownName: ClusterName,
  sha256Hex: Sha256Hex,
  mistakes: MistakeList
): void => {
  for (const [index, entry] of entries.entries()) {
    const field = `clusters[${entry.index}].name`
    if (clusterNamesCollide(entry.member.name, ownName, sha256Hex)) {
      mistakes.add(
        field,
        entry.member.name,
        `the name collides with clusterName ${ownName}, the primary itself`,
        "rename one of the two"
      )
    }
    const earlier = entries
      .slice(0, index)
      .find((other) => clusterNamesCollide(entry.member.name, other.member.name, sha256Hex))
    if (earlier !== undefined) {
      const other = `clusters[${earlier.index}], ${earlier.member.name}`
      mistakes.add(field, entry.member.name, `the name collides with that of ${other}`, "rename one of the two")
    }
  }
}

/** The entry marked as default; several, or another than the primary's file names, are mistakes. */
const flaggedEntry = (
  entries: ReadonlyArray<MemberEntry>,
  named: string,
  mistakes: MistakeList
): MemberEntry | undefined => {
  const [first, ...others] = entries.filter((entry) => entry.isDefault)
  if (first === undefined) return undefined
  const { name } = first.member
  for (const extra of others) {
    mistakes.add(
      `clusters[${extra.index}].isDefault`,
      true,
      `${extra.member.name} is marked as default although ${name} is already`,
      "leave isDefault at one cluster only"
    )
  }
  if (named !== "" && [first, ...others].every((entry) => entry.member.name !== named)) {
    mistakes.add(
      `clusters[${first.index}].isDefault`,
      true,
      `${name} is marked as default but defaultCluster in ${multiClusterFile} is ${named}`,
      "make the two agree, or leave isDefault out"
    )
  }
  return first
}

/** The clusters among which the default may be. */
interface DefaultChoice extends MemberEntries {
  readonly findsClusters: boolean
}

/** The cluster that `defaultCluster` names. `complete`: the names of all entries are known. */
const namedDefault = (
  { clusterName: ownName, defaultCluster: named, managementOnly }: PrimarySettings,
  { complete, entries, findsClusters }: DefaultChoice,
  mistakes: MistakeList
): ClusterName | undefined => {
  if (named === ownName) {
    if (!managementOnly) return ownName
    mistakes.add(
      "defaultCluster",
      named,
      "a management-only cluster has no workloads and cannot be its own default",
      "name another cluster, or set managementOnly to false"
    )
    return undefined
  }
  const names = entries.map((entry) => entry.member.name)
  const found = names.find((name) => name === named)
  if (found !== undefined) return found
  if (findsClusters) return clusterNameProblem(named) === undefined ? clusterName(named) : undefined
  // No clusters at all is reported by /readyz and never refused; with unreadable entries this would only be an echo of
  // those.
  if (entries.length > 0 && complete) {
    const choices = [...(managementOnly ? [] : [ownName]), ...names].join(", ")
    mistakes.add("defaultCluster", named, "no cluster has this name", `name one of ${choices}`)
  }
  return undefined
}

const checkDefault = (
  primary: PrimarySettings,
  members: DefaultChoice,
  inPrimary: MistakeList,
  inClusters: MistakeList
): ClusterName | undefined => {
  const flagged = flaggedEntry(members.entries, primary.defaultCluster, inClusters)
  if (primary.defaultCluster !== "") return namedDefault(primary, members, inPrimary)
  if (flagged !== undefined) return flagged.member.name
  return members.entries.length === 0 && !primary.managementOnly ? primary.clusterName : undefined
}

/** All that a primary's configuration comes from. */
export interface FleetDocuments {
  readonly multiCluster: ConfigurationDocument
  readonly clusters: ConfigurationDocument
  /**
   * Takes the place of the file's `managementOnly`: the variable `PRIMARY_MANAGEMENT_ONLY` (published-chart.md §2.3).
   */
  readonly managementOnly?: boolean | undefined
  /** Whether clusters are found beside those of the file: the default may be one of them. */
  readonly findsClusters?: boolean | undefined
}

/**
 * Reads a primary's two configuration files in the published format (published-chart.md §2.4).
 *
 * Fails with **every** mistake that must keep the operator from starting, in file order: not YAML or not that format,
 * missing or unknown `authType`, an entry without `name` or `server`, management-only with itself as default, a
 * `defaultCluster` that is not among the clusters, if there are any and none are found, two `isDefault`, `isDefault`
 * against `defaultCluster`, names that collide. A mistake that concerns one cluster alone (CA, key, region, address) is
 * in that member's `problems`, and an empty fleet is reported by `fleetProblems`.
 */
export const parseFleetConfiguration = (
  documents: FleetDocuments,
  sha256Hex: Sha256Hex
): Result.Result<FleetConfiguration, ReadonlyArray<ConfigurationMistake>> => {
  const inPrimary = new MistakeList(multiClusterFile)
  const inClusters = new MistakeList(clustersFile)
  const primary = parsePrimary(documentValue(documents.multiCluster, inPrimary), documents.managementOnly, inPrimary)
  const { complete, entries } = parseMembers(documentValue(documents.clusters, inClusters), inClusters)
  const isReadable = documents.clusters._tag !== "NotYaml" && documents.clusters._tag !== "Unreadable"
  checkCollisions(entries, primary.clusterName, sha256Hex, inClusters)
  const choice = { entries, complete: complete && isReadable, findsClusters: documents.findsClusters === true }
  const defaultCluster = checkDefault(primary, choice, inPrimary, inClusters)

  const mistakes = [...inPrimary.mistakes, ...inClusters.mistakes]
  if (mistakes.length > 0) return Result.fail(mistakes)
  const members = entries.map(({ member }) => member).sort(Order.mapInput(Order.String, ({ name }) => name))
  return Result.succeed({ ...primary, defaultCluster, members })
}

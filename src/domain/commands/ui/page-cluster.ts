/**
 * A cluster on the page of `braid ui`: whether it is ready, and if not why, and what to do.
 *
 * Not here: the other parts of the page (fleet-page.ts).
 */

import { cleanText, textLimits } from "../../clean-text.ts"
import type { ClusterReadiness } from "../../fleet/cluster-object.ts"
import { momentText, spanText } from "../../fleet/credentials/validity.ts"
import { findCondition } from "../../resources/condition.ts"
import { clusterReady, type MirrordCluster } from "../../resources/mirrord-cluster.ts"
import { credentialsLast } from "../../resources/mirrord-operator.ts"
import { timeOf } from "../../resources/object-meta.ts"
import type { FleetRow } from "../overview/operator-overview.ts"
import type { Look } from "./look.ts"

export interface PageCluster {
  readonly name: string
  readonly look: Look
  /** `ready`, `not ready` or `not known yet`. */
  readonly state: string
  /** How long that has been so; empty if it is not known. */
  readonly age: string
  /** Why it is not ready, a sentence; empty if it is ready. */
  readonly reason: string
  /** The cure, a sentence; empty if it is ready. */
  readonly fix: string
  /** Such as `default`; empty for a cluster that only has traffic. */
  readonly roles: string
  readonly version: string
  /** When the credentials end, or what is wrong with them; empty if that is not known. */
  readonly credentials: string
  readonly credentialsLook: Look
  /** Number of sessions over many clusters that run there; empty if it is not known. */
  readonly sessions: string
  /** The same as a line to copy. */
  readonly text: string
}

/** The cure of each reason why a cluster is not ready. `name` is that of the cluster. */
const fixes: Readonly<Record<ClusterReadiness["_tag"], (name: string) => string>> = {
  Connected: () => "",
  Connecting: (name) => `Wait a moment; braid doctor --cluster ${name} says what it waits for.`,
  Lost: (name) =>
    `See whether its API server and its operator run: braid doctor --cluster ${name}. Sessions take the cluster in ` +
    "again by themselves once it answers.",
  CredentialsRefused: (name) =>
    `Make new credentials: braid join ${name} --apply --wait, with contexts for both clusters.`,
  NotUsable: (name) =>
    `braid doctor --cluster ${name} says which part of its entry or of its Secret is missing or wrong.`,
  RightMissing: (name) => `Install the chart of this release there; braid doctor --cluster ${name} names the right.`,
  SessionsUnreadable: (name) =>
    `braid doctor --cluster ${name} says whether its API server serves mirrordclustersessions, and to whom.`
}

const fixOf = (reason: string, name: string): string =>
  (new Map<string, (name: string) => string>(Object.entries(fixes)).get(reason) ?? fixes.Lost)(name)

const text = (cluster: Omit<PageCluster, "text">): string =>
  [
    `${cluster.name}: ${cluster.state}${cluster.age === "" ? "" : ` for ${cluster.age}`}`,
    ...(cluster.roles === "" ? [] : [cluster.roles]),
    ...(cluster.version === "" ? [] : [`operator ${cluster.version}`]),
    ...(cluster.credentials === "" ? [] : [`credentials ${cluster.credentials}`]),
    ...(cluster.reason === "" ? [] : [`${cluster.reason} ${cluster.fix}`])
  ].join("; ")

const stated = (cluster: Omit<PageCluster, "text">): PageCluster => ({ ...cluster, text: text(cluster) })

const looks: Readonly<Record<string, readonly [Look, string]>> = {
  True: ["ready", "ready"],
  False: ["failed", "not ready"]
}
const unknown: readonly [Look, string] = ["waiting", "not known yet"]

/** The end of the credentials in use, for a person. */
const credentialsOf = (
  { status }: MirrordCluster,
  reason: string | undefined,
  now: number
): Pick<PageCluster, "credentials" | "credentialsLook"> => {
  if (reason === ("CredentialsRefused" satisfies ClusterReadiness["_tag"]))
    return { credentials: "refused", credentialsLook: "failed" }
  const end = timeOf(status.credentialsExpireAt)
  const ending = findCondition(status.conditions, credentialsLast)
  if (end === undefined)
    return {
      credentials: cleanText(ending?.message ?? "", textLimits.message),
      credentialsLook: ending === undefined ? "ready" : "waiting"
    }
  if (end <= now) return { credentials: `ended ${momentText(end)}`, credentialsLook: "failed" }
  return {
    credentials: `end in ${spanText(end - now)}${ending === undefined ? "" : ` and are not renewed`}`,
    credentialsLook: ending === undefined ? "ready" : "waiting"
  }
}

/** A cluster by its own object. */
const ofObject = (cluster: MirrordCluster, now: number): PageCluster => {
  const { metadata, spec, status } = cluster
  const ready = findCondition(status.conditions, clusterReady)
  const [look, state] = looks[ready?.status ?? ""] ?? unknown
  const since = timeOf(ready?.lastTransitionTime)
  const name = cleanText(metadata.name, textLimits.name)
  const isReady = look === "ready"
  return stated({
    name,
    look,
    state,
    age: since === undefined ? "" : spanText(now - since),
    reason: isReady ? "" : cleanText(ready?.message ?? "", textLimits.message),
    fix: isReady ? "" : fixOf(ready?.reason ?? "", name),
    roles: spec.roles.join(", ").toLowerCase(),
    version: cleanText(status.operatorVersion ?? "", textLimits.name),
    ...credentialsOf(cluster, ready?.reason, now),
    sessions: String(status.sessions)
  })
}

/** A cluster by the operator's object, which says less. */
const ofRow = (row: FleetRow): PageCluster => {
  const name = cleanText(row.name, textLimits.name)
  const isReady = row.state === "connected"
  const [look, state] = looks[isReady ? "True" : "False"] ?? unknown
  return stated({
    name,
    look,
    state,
    age: "",
    reason: isReady ? "" : cleanText(row.reason ?? "", textLimits.message),
    fix: isReady ? "" : fixes.Lost(name),
    roles: "",
    version: cleanText(row.version ?? "", textLimits.name),
    credentials: "",
    credentialsLook: "ready",
    sessions: ""
  })
}

/**
 * The clusters by their names. `objects`: their own, or `undefined` for a person who may not read them. `now`: epoch
 * ms.
 */
export const pageClusters = (
  rows: ReadonlyArray<FleetRow>,
  objects: ReadonlyArray<MirrordCluster> | undefined,
  now: number
): ReadonlyArray<PageCluster> =>
  (objects?.map((object) => ofObject(object, now)) ?? rows.map(ofRow)).toSorted((a, b) => (a.name < b.name ? -1 : 1))

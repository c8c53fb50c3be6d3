/**
 * The command `braid clusters`: the clusters of a primary, from its operator's object and, with the rights for it, from
 * its configuration and its Secrets. No credentials are printed or used.
 *
 * Not here: the rows (domain/overview/cluster-row.ts).
 */

import { Clock, Effect } from "effect"
import type { ClusterAuth } from "../../../domain/credentials/cluster-auth.ts"
import type { CredentialFacts } from "../../../domain/doctor/cluster-facts.ts"
import type { FleetConfiguration, MemberConfiguration } from "../../../domain/fleet/configuration.ts"
import {
  clusterCells,
  clusterHeader,
  type ClusterRow,
  clusterRows,
  type KnownCluster
} from "../../../domain/overview/cluster-row.ts"
import { operatorOverview } from "../../../domain/overview/operator-overview.ts"
import { textTable } from "../../../domain/overview/text-table.ts"
import { timestamp } from "../../../domain/resources/object-meta.ts"
import { examinedMember } from "../doctor/examined-member.ts"
import { withFoundClusters } from "../doctor/found-clusters.ts"
import { type Installation, installationByKubeConfig } from "../doctor/installation.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { chosenCluster, type Unanswered } from "./ask-cluster.ts"
import { readOperator } from "./read-operator.ts"
import { type Output, tell, type Told } from "./tell.ts"

export interface ClustersOptions extends KubeConfigChoice {
  /** Namespace of the operator. */
  readonly namespace: string
}

const authNames = {
  BearerToken: "bearerToken",
  Eks: "eks",
  Aks: "aks",
  Mtls: "mtls",
  Kubeconfig: "kubeconfig"
} as const satisfies Record<ClusterAuth["_tag"], KnownCluster["auth"]>

const endOf = (credentials: CredentialFacts): number | undefined => {
  switch (credentials._tag) {
    case "Token":
      return credentials.claims?.validity.until
    case "Certificate":
      return credentials.validity.until
    case "Unusable":
    case "Cloud":
    case "CloudOfOperator":
    case "Other":
      return undefined
  }
}

const knownMember = (
  member: MemberConfiguration,
  fleet: FleetConfiguration,
  installation: Installation
): Effect.Effect<KnownCluster> =>
  Effect.map(examinedMember(member, false, installation), ({ credentials, problems }) => ({
    name: member.name,
    role: member.name === fleet.defaultCluster ? "default" : "member",
    auth: authNames[member.auth._tag],
    expiresAt: endOf(credentials),
    problem: problems[0] ?? (credentials._tag === "Unusable" ? credentials.problem : undefined)
  }))

interface Known {
  readonly clusters: ReadonlyArray<KnownCluster>
  /** Why some things are not known. */
  readonly notes: ReadonlyArray<string>
}

/** The clusters as the configuration has them; none without the right to read it. */
const knownClusters = ({ namespace, ...choice }: ClustersOptions): Effect.Effect<Known> =>
  Effect.gen(function* () {
    const installation = yield* withFoundClusters(yield* installationByKubeConfig(choice, namespace))
    const { findings, fleet } = installation
    const notes = findings.map(({ message }) => message)
    if (fleet === undefined) return { clusters: [], notes }
    const isDefault = fleet.defaultCluster === fleet.clusterName
    const own: KnownCluster = {
      name: fleet.clusterName,
      role: isDefault ? "primary, default" : "primary",
      auth: undefined,
      expiresAt: undefined,
      problem: undefined
    }
    const members = yield* Effect.forEach(fleet.members, (member) => knownMember(member, fleet, installation))
    return { clusters: [own, ...members], notes }
  }).pipe(
    Effect.scoped,
    Effect.catch(({ findings }) => Effect.succeed({ clusters: [], notes: findings.map(({ message }) => message) }))
  )

const json = ({ auth, expiresAt, reason, role, version, ...row }: ClusterRow): object => ({
  ...row,
  ...(role === undefined ? {} : { role }),
  ...(auth === undefined ? {} : { auth }),
  ...(expiresAt === undefined ? {} : { expires: timestamp(expiresAt) }),
  ...(version === undefined ? {} : { version }),
  ...(reason === undefined ? {} : { reason })
})

/** The clusters of the chosen primary. */
export const findClusters = (options: ClustersOptions): Effect.Effect<Told, Unanswered> =>
  Effect.gen(function* () {
    const operator = yield* readOperator(yield* chosenCluster(options))
    if (!operatorOverview(operator).isPrimary)
      return { value: [], lines: ["The operator of this cluster is no primary: it has no other clusters."], notes: [] }
    const { clusters, notes } = yield* knownClusters(options)
    const rows = clusterRows(operator, clusters)
    const now = yield* Clock.currentTimeMillis
    return {
      value: rows.map(json),
      lines: textTable([clusterHeader, ...rows.map((row) => clusterCells(row, now))]),
      notes
    }
  }).pipe(Effect.scoped)

export const runClusters = ({
  output,
  ...options
}: ClustersOptions & { readonly output: Output }): Effect.Effect<number> => tell(output, findClusters(options))

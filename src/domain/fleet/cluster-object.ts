/**
 * The MirrordCluster of a workload cluster, from what the primary knows of it, and its row for `kubectl get`.
 *
 * Not here: the knowledge (app/fleet).
 */

import { cleanText, textLimits } from "../clean-text.ts"
import { type Condition, findCondition } from "../resources/condition.ts"
import { clusterReady, type ClusterRole, type MirrordCluster, mirrordClusters } from "../resources/mirrord-cluster.ts"
import { credentialsLast } from "../resources/mirrord-operator.ts"
import { timeOf, timestamp } from "../resources/object-meta.ts"
import type { PrintedColumn } from "../resources/printed-table.ts"
import { apiVersionOf } from "../resources/resource-descriptor.ts"
import type { ClusterName } from "./cluster-name.ts"
import { endingClause, type EndingCredentials, endingSince } from "./credentials/credential-end.ts"
import { spanText } from "./credentials/validity.ts"

/** Whether new sessions take a cluster in, and else why not; `message` is a clause. */
export type ClusterReadiness =
  | { readonly _tag: "Connected" }
  | { readonly _tag: "Connecting"; readonly message: string }
  /** It answers no more. */
  | { readonly _tag: "Lost"; readonly message: string }
  /** It refuses the credentials, whatever their end. */
  | { readonly _tag: "CredentialsRefused"; readonly message: string }
  /** It is not checked: its credentials are missing or unusable, or it is another cluster than its name stands for. */
  | { readonly _tag: "NotUsable"; readonly message: string }
  /** Its API server answers, but this operator may not do there what it has to. */
  | { readonly _tag: "RightMissing"; readonly message: string }
  /** Its operator answers, but its API server does not list its sessions. */
  | { readonly _tag: "SessionsUnreadable"; readonly message: string }

const credentialsRefused: ClusterReadiness["_tag"] = "CredentialsRefused"

/** A primary's knowledge of a cluster. Times are epoch ms. */
export interface KnownCluster {
  readonly name: ClusterName
  readonly roles: ReadonlyArray<ClusterRole>
  /** Undefined for the primary's own cluster. */
  readonly authType: string | undefined
  readonly readiness: ClusterReadiness
  /** Since when that is so. */
  readonly since: number
  readonly operatorVersion: string | undefined
  readonly checkedAt: number | undefined
  /** When the credentials in use end, if that is known. */
  readonly expiresAt: number | undefined
  /** Credentials that end and are not renewed. */
  readonly ending: EndingCredentials | undefined
  /** Since when the tunnel of a member that dials out is used; `undefined` without a tunnel. */
  readonly tunnelSince?: number | undefined
  /** The pod of the replica that watches it; `undefined` unless replicas share the clusters. */
  readonly replica?: string | undefined
  readonly sessions: number
}

const statusOf: Readonly<Record<ClusterReadiness["_tag"], Condition["status"]>> = {
  Connected: "True",
  Connecting: "Unknown",
  Lost: "False",
  CredentialsRefused: "False",
  NotUsable: "False",
  RightMissing: "False",
  SessionsUnreadable: "False"
}

const readyCondition = ({ readiness, since }: KnownCluster): Condition => ({
  type: clusterReady,
  status: statusOf[readiness._tag],
  reason: readiness._tag,
  message: cleanText(
    readiness._tag === "Connected" ? "Its operator answers, and its sessions are known." : readiness.message,
    textLimits.message
  ),
  lastTransitionTime: timestamp(since)
})

/** The credentials of a cluster, for a condition of one cluster or of many. */
interface Ending {
  readonly ending: EndingCredentials | undefined
  /** The clause as a sentence. */
  readonly sentence: (clause: string) => string
}

/** The condition that is there while credentials that are not renewed end soon or have ended. `now`: epoch ms. */
export const credentialsLastCondition = (all: ReadonlyArray<Ending>, now: number): ReadonlyArray<Condition> => {
  const told = all.flatMap(({ ending, sentence }) => {
    const [since, clause] = ending === undefined ? [] : [endingSince(ending.validity, now), endingClause(ending, now)]
    return since === undefined || clause === undefined ? [] : [{ since, sentence: sentence(clause) }]
  })
  if (told.length === 0) return []
  return [
    {
      type: credentialsLast,
      status: "False",
      reason: "EndsSoon",
      message: cleanText(told.map(({ sentence }) => sentence).join(" "), textLimits.message),
      lastTransitionTime: timestamp(Math.min(...told.map(({ since }) => since)))
    }
  ]
}

/** The object as it is served. `now`: epoch ms. */
export const clusterObject = (known: KnownCluster, now: number): ServedCluster => {
  const { authType, checkedAt, ending, expiresAt, name, operatorVersion, replica, roles, sessions, tunnelSince } = known
  return {
    apiVersion: apiVersionOf(mirrordClusters),
    kind: mirrordClusters.kind,
    metadata: { name },
    spec: { roles, ...(authType === undefined ? {} : { authType }) },
    status: {
      ...(operatorVersion === undefined ? {} : { operatorVersion }),
      ...(checkedAt === undefined ? {} : { lastCheck: timestamp(checkedAt) }),
      ...(expiresAt === undefined ? {} : { credentialsExpireAt: timestamp(expiresAt) }),
      ...(tunnelSince === undefined ? {} : { tunnelSince: timestamp(tunnelSince) }),
      ...(replica === undefined ? {} : { replica }),
      sessions,
      conditions: [
        readyCondition(known),
        ...credentialsLastCondition([{ ending, sentence: (clause) => `${clause}.` }], now)
      ]
    }
  }
}

/** A MirrordCluster with the fields by which Kubernetes knows its kind. */
export type ServedCluster = MirrordCluster & { readonly apiVersion: string; readonly kind: string }

/** How long until a moment; `ended` after it, and `-` if there is none. */
const spanUntil = (moment: string | undefined, now: number): string => {
  const time = timeOf(moment)
  if (time === undefined) return "-"
  return time <= now ? "ended" : spanText(time - now)
}

/** The columns of `kubectl get mirrordclusters`. `now`: epoch ms. */
export const clusterColumns = (now: number): ReadonlyArray<PrintedColumn<MirrordCluster>> => [
  { name: "Name", description: "Name in the primary's configuration.", cell: ({ metadata }) => metadata.name },
  {
    name: "Ready",
    description: "Whether new sessions take the cluster in.",
    cell: ({ status }) => findCondition(status.conditions, clusterReady)?.status ?? "Unknown"
  },
  {
    name: "Role",
    description: "Whether it is the primary's own cluster, and the default one.",
    cell: ({ spec }) => spec.roles.join(",") || "-"
  },
  {
    name: "Auth",
    description: "How the primary authenticates there.",
    cell: ({ spec }) => spec.authType ?? "-"
  },
  {
    name: "Expires",
    description: "When the credentials in use end, or that they are refused. Tokens are renewed before.",
    cell: ({ status }) =>
      findCondition(status.conditions, clusterReady)?.reason === credentialsRefused
        ? "refused"
        : spanUntil(status.credentialsExpireAt, now)
  },
  {
    name: "Version",
    description: "Version of its operator.",
    cell: ({ status }) => status.operatorVersion ?? "-"
  },
  {
    name: "Sessions",
    description: "Sessions over many clusters that run there.",
    cell: ({ status }) => String(status.sessions)
  },
  {
    name: "Since",
    description: "How long Ready has been what it is.",
    cell: ({ status }) => {
      const since = timeOf(findCondition(status.conditions, clusterReady)?.lastTransitionTime)
      return since === undefined ? "-" : spanText(now - since)
    }
  },
  {
    name: "Replica",
    description: "Replica of the operator that watches the cluster, if replicas share them.",
    isWide: true,
    cell: ({ status }) => status.replica ?? "-"
  },
  {
    name: "Reason",
    description: "Why Ready is what it is.",
    isWide: true,
    cell: ({ status }) => findCondition(status.conditions, clusterReady)?.message ?? ""
  }
]

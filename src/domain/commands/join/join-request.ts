/**
 * A cluster that is to join a fleet, as a person asks for it: its entry in the primary's list of clusters, and the
 * values of the charts of both clusters.
 *
 * Not here: whether it may join (join-plan.ts).
 */

import { quoted } from "../../clean-text.ts"
import { clusterNameProblem } from "../../fleet/cluster-name.ts"
import { encodeBase64Text } from "../../fleet/credentials/base64.ts"
import type { AuthType } from "../../fleet/credentials/cluster-auth.ts"
import type { JsonObject } from "../../json.ts"
import { outboundSettings } from "../../outbound/settings.ts"

/** The kinds of credentials, as the flag `--provider` names them; `outbound`: none, the member dials the primary. */
export const joinProviders = ["token", "mtls", "eks", "aks", "outbound"] as const
export type JoinProvider = (typeof joinProviders)[number]

/** Namespace of an operator unless a cluster's entry says another one. */
export const defaultNamespace = "mirrord"
/** The service account that the chart makes on members, and the group that takes its place there. */
export const memberAccount = "mirrord-operator-envoy"

export interface JoinRequest {
  readonly name: string
  readonly provider: JoinProvider
  /** URL of the member's API server; `undefined` with `outbound`. */
  readonly server: string | undefined
  /** PEM of its CA; without it the system's roots are used. */
  readonly certificateAuthority: string | undefined
  /** Namespace of the operator in the member. */
  readonly namespace: string
  readonly region: string | undefined
  readonly tenantId: string | undefined
  readonly clientId: string | undefined
  /** Of the primary's identity in the member: group of the EKS access entry, or object id of the Entra group. */
  readonly group: string | undefined
  /** Name of the user in the client certificate that is given; empty if it names none. */
  readonly user: string | undefined
}

const authTypeOf: Readonly<Record<JoinProvider, AuthType>> = {
  token: "bearerToken",
  mtls: "mtls",
  eks: "eks",
  aks: "aks",
  outbound: "outbound"
}

/** Fields of a request that only some providers use, with the flag of each. */
const fieldsOf = {
  region: { flag: "--region", providers: ["eks"] },
  tenantId: { flag: "--tenant-id", providers: ["aks"] },
  clientId: { flag: "--client-id", providers: ["aks"] },
  group: { flag: "--group", providers: ["eks", "aks"] },
  user: { flag: "--client-certificate", providers: ["mtls"] }
} as const satisfies Partial<
  Record<keyof JoinRequest, { readonly flag: string; readonly providers: ReadonlyArray<JoinProvider> }>
>

const fieldProblems = (request: JoinRequest): ReadonlyArray<string> =>
  Object.entries(fieldsOf).flatMap(([field, { flag, providers }]) => {
    const given = request[field as keyof typeof fieldsOf]
    const isUsed = (providers as ReadonlyArray<JoinProvider>).includes(request.provider)
    return given === undefined || isUsed
      ? []
      : [`${flag}: found ${quoted(given)}, which --provider ${request.provider} does not use; leave it out.`]
  })

/** Mistakes in the request alone, one sentence each. */
export const requestProblems = (request: JoinRequest): ReadonlyArray<string> => {
  const name = clusterNameProblem(request.name)
  const lacksGroup = request.provider === "aks" && request.group === undefined
  return [
    ...(name === undefined ? [] : [`The name is ${quoted(request.name)}: ${name}; give it another one.`]),
    ...fieldProblems(request),
    ...(lacksGroup
      ? ["--group: found nothing; --provider aks needs the object id of the Entra group of the operator's identity."]
      : [])
  ]
}

/** Flags of a join, with their values. */
type Flags = Readonly<Record<string, string | boolean | undefined>>

/** The flags that are given, but not used for a cluster that dials out; one sentence each. */
export const unusedFlags = (flags: Flags): ReadonlyArray<string> =>
  Object.entries(flags).flatMap(([flag, found]) =>
    found === undefined || found === false
      ? []
      : [`${flag}: found ${quoted(String(found))}, which --outbound does not use; leave it out.`]
  )

/** The fields that are given. */
const given = (fields: Readonly<Record<string, string | undefined>>): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** The cluster's value in `operator.multiCluster.clusters`, under its name. */
const clusterFields = (request: JoinRequest): JsonObject =>
  given({
    server: request.server,
    namespace: request.namespace === defaultNamespace ? undefined : request.namespace,
    caData: request.certificateAuthority === undefined ? undefined : encodeBase64Text(request.certificateAuthority),
    authType: authTypeOf[request.provider],
    region: request.region,
    tenantId: request.tenantId,
    clientId: request.clientId
  })

/** The cluster's entry in `clusters-config.yaml`. */
export const clusterEntry = (request: JoinRequest): JsonObject => ({ name: request.name, ...clusterFields(request) })

/** Values for the release of the primary, so that an upgrade keeps the entry. */
export const primaryValues = (request: JoinRequest, isDefault: boolean): JsonObject => ({
  operator: {
    ...(request.provider === "outbound" ? { cell: { enabled: true } } : {}),
    multiCluster: {
      enabled: true,
      ...(isDefault ? { defaultCluster: request.name } : {}),
      clusters: Object.fromEntries([[request.name, clusterFields(request)]])
    }
  }
})

const rbacGroup = "rbac.authorization.k8s.io"

/** The way of a member to its primary, as the values of its chart have it. */
export interface DialledCell {
  /** Host and port of the tunnels, or the URL of a WebSocket. */
  readonly cell: string
  /** Host and port at which the token is taken, or the URL of a WebSocket. */
  readonly bootstrap: string
  /** SHA-256 of the public key of the primary's authority for tunnels, hex. */
  readonly pin: string
  /** `undefined` before it is made. */
  readonly token: string | undefined
}

/**
 * The addresses of tunnels and of redemptions for the address of a cell. The URL of a WebSocket leads to both by the
 * last part of its path.
 */
export const cellAddresses = (cell: string): Pick<DialledCell, "bootstrap" | "cell"> => {
  if (/^ws/iu.test(cell) && cell.includes("//")) {
    const root = cell.replace(/(\/tunnels|\/)?$/u, "")
    return { cell: `${root}/tunnels`, bootstrap: `${root}/bootstrap` }
  }
  return { cell, bootstrap: `${cell.slice(0, cell.lastIndexOf(":"))}:${outboundSettings.bootstrapPort.default}` }
}

/** Values for the release of the member. `dialled`: `undefined` unless it dials the primary. */
export const memberValues = ({ group, namespace, provider, user }: JoinRequest, dialled?: DialledCell): JsonObject => {
  const identity = {
    token: {},
    outbound: dialled === undefined ? {} : { outbound: { enabled: true, ...given({ ...dialled }) } },
    mtls: {},
    eks: { multiClusterMemberIamGroup: group ?? memberAccount },
    aks: given({ multiClusterMemberAzureGroup: group })
  }[provider]
  return {
    ...(namespace === defaultNamespace ? {} : { namespace }),
    operator: { multiClusterMember: true, ...identity },
    ...(provider === "mtls" && user !== undefined && user !== ""
      ? { rbac: { memberSubjects: [{ kind: "User", name: user, apiGroup: rbacGroup }] } }
      : {})
  }
}

/**
 * Makes a cluster a member that dials out: writes the hash of a token for it, and its entry in the primary's list. The
 * token itself is printed once and kept nowhere.
 *
 * Not here: the decisions (domain/commands/join), and trading the token for a certificate (app/outbound).
 */

import { createHash, randomBytes } from "node:crypto"
import { Clock, Effect, Result, type Scope } from "effect"
import { forms, hasForm } from "../../../domain/catalogue/setting.ts"
import { quoted } from "../../../domain/clean-text.ts"
import { type JoinPlan, planJoin } from "../../../domain/commands/join/join-plan.ts"
import {
  cellAddresses,
  type DialledCell,
  type JoinRequest,
  unusedFlags
} from "../../../domain/commands/join/join-request.ts"
import { clusterName, credentialsSecretName } from "../../../domain/fleet/cluster-name.ts"
import { readAdmittedKeys } from "../../../domain/outbound/admitted-keys.ts"
import { type BootstrapToken, storedTokenData, tokenText } from "../../../domain/outbound/bootstrap-token.ts"
import { outboundSettings } from "../../../domain/outbound/settings.ts"
import { secrets } from "../../../domain/resources/core-kinds.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeObject } from "../../../ports/kube-api.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import { readTunnelAuthority } from "../../outbound/authority.ts"
import type { Unanswered } from "../overview/ask-cluster.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import type { JoinOptions } from "./join.ts"
import { entryWrites, perform, secretManifest, type Write } from "./perform-join.ts"
import { failedDoing, findPrimary, orNothing, type Primary, refused, releaseOf } from "./primary.ts"

/** The options of a join of a cluster that the primary reaches. */
type Unused = Pick<
  JoinOptions,
  | "caFile"
  | "clientCertificate"
  | "clientId"
  | "clientKey"
  | "group"
  | "provider"
  | "region"
  | "server"
  | "tenantId"
  | "wait"
>

export interface JoinOutboundOptions extends KubeConfigChoice, Unused {
  readonly name: string
  /** Namespace of the primary's operator. */
  readonly namespace: string
  readonly memberNamespace: string
  readonly cell: string | undefined
  readonly bootstrap: string | undefined
  /** Whether the cluster has joined before. */
  readonly renew: boolean
  /** Whether anything is written. */
  readonly apply: boolean
}

/** The outcome. */
export interface JoinedOutbound {
  readonly request: JoinRequest
  readonly primary: Primary
  readonly plan: Extract<JoinPlan, { readonly _tag: "Join" }>
  readonly dialled: DialledCell
  /** When the token ends, epoch ms. */
  readonly until: number
  readonly writes: ReadonlyArray<Write>
  /** Sentences about what was written; `undefined` without `apply`. */
  readonly done: ReadonlyArray<string> | undefined
}

/** How long a token can be used, ms. */
const tokenTime = 3_600_000

/** The addresses of the flags. */
const addressesOf = ({
  bootstrap,
  cell
}: JoinOutboundOptions): Effect.Effect<Pick<DialledCell, "bootstrap" | "cell">, Unanswered> => {
  const wrong = (flag: string, found = "") => refused(`${flag}: found ${quoted(found)}; ${forms.cellAddress.cure}.`)
  if (cell === undefined || !hasForm(forms.cellAddress, cell)) return wrong("--cell", cell)
  const usual = cellAddresses(cell)
  const other = bootstrap ?? usual.bootstrap
  return hasForm(forms.cellAddress, other)
    ? Effect.succeed({ cell: usual.cell, bootstrap: other })
    : wrong("--bootstrap", other)
}

/** Sentences about flags that have no effect. */
const unusedOf = (options: Unused): ReadonlyArray<string> =>
  unusedFlags({
    "--provider": options.provider === "token" ? undefined : options.provider,
    "--server": options.server,
    "--ca-file": options.caFile,
    "--client-certificate": options.clientCertificate,
    "--client-key": options.clientKey,
    "--region": options.region,
    "--tenant-id": options.tenantId,
    "--client-id": options.clientId,
    "--group": options.group,
    "--wait": options.wait
  })

/** A new token: an id of ten letters and digits, and 32 random bytes. */
const newToken = (name: string): BootstrapToken => ({
  name: clusterName(name),
  id: BigInt(`0x${randomBytes(8).toString("hex")}`)
    .toString(36)
    .padStart(10, "0")
    .slice(-10),
  secret: randomBytes(32).toString("base64url")
})

/** The pin of the authority that signs for this primary's tunnels. */
const pinOf = ({ api, installation, namespace }: Primary): Effect.Effect<string, Unanswered> => {
  // The authority stays when tunnels are switched off.
  if (installation.kept.switches[outboundSettings.takesTunnels.variable] !== true)
    return refused("The primary takes no tunnels: set operator.cell.enabled in its values, and upgrade the release.")
  return readTunnelAuthority(api, namespace).pipe(
    Effect.map(({ pin }) => pin),
    Effect.catch((error) =>
      error.reason === "NotFound"
        ? refused("The primary's operator has not made its authority for tunnels yet; look at its log.")
        : Effect.fail(failedDoing("reading the authority for tunnels", error))
    )
  )
}

/** The sentence if a token is not what the cluster needs. `secret`: of the member. */
const tokenProblem = (
  { name, renew }: JoinOutboundOptions,
  plan: JoinedOutbound["plan"],
  secret: KubeObject | undefined
): string | undefined => {
  const data = secret && Result.getOrUndefined(readResource(secrets, secret))?.data
  const hasKey = readAdmittedKeys(data).length > 0
  const release = releaseOf(secret)
  if (release !== undefined)
    return `The Secret of cluster ${name} belongs to the Helm release ${release}; take it out of the values.`
  if (renew && plan.entry._tag !== "Kept")
    return `Cluster ${name} is not in the fleet; leave --renew out, and give --outbound.`
  if (!renew && hasKey)
    return `Cluster ${name} has joined already; --renew makes another token, whose use shuts its certificate out.`
  return undefined
}

const tokenWrite = (primary: Primary, token: BootstrapToken, until: number, secret: KubeObject | undefined): Write => {
  const { api, namespace } = primary
  const hash = createHash("sha256").update(token.secret).digest("hex")
  const stored = { id: token.id, name: token.name, hash, until, by: "braid join" }
  const manifest = secretManifest(namespace, token.name, { data: storedTokenData(stored) })
  const { name } = manifest.metadata
  return {
    doing: `writing the hash of a token into Secret ${namespace}/${name}`,
    done: `The hash of the token was written into Secret ${namespace}/${name}.`,
    call:
      secret === undefined
        ? api.create(secrets, manifest, namespace)
        : api.mergePatch(secrets, name, manifest, { namespace })
  }
}

/** Makes a cluster a member that dials out. Fails before anything is written, or names what was. */
export const joinOutbound = Effect.fnUntraced(function* (
  options: JoinOutboundOptions
): Effect.fn.Return<JoinedOutbound, Unanswered, Scope.Scope> {
  const { apply, memberNamespace, name, namespace } = options
  const unused = unusedOf(options)
  if (unused.length > 0) return yield* refused(unused.join(" "))
  const addresses = yield* addressesOf(options)
  const primary = yield* findPrimary(options, namespace)
  const nothing = { certificateAuthority: undefined, region: undefined, tenantId: undefined, clientId: undefined }
  const of = { name, provider: "outbound", namespace: memberNamespace, server: undefined } as const
  const request: JoinRequest = { ...of, ...nothing, group: undefined, user: undefined }
  const { pins, provided, sources, uid } = primary
  const plan = planJoin(
    {
      request,
      documents: sources.documents,
      readsList: sources.clustersKey !== undefined,
      provided,
      identity: { found: undefined, own: uid, pins, namespace },
      holder: undefined
    },
    sha256Hex
  )
  if (plan._tag === "Refused") return yield* refused(plan.problems.join(" "))
  const pin = yield* pinOf(primary)
  const secretName = credentialsSecretName(clusterName(name), sha256Hex)
  const secret = yield* Effect.mapError(orNothing(primary.api.get(secrets, secretName, namespace)), (error) =>
    failedDoing(`reading Secret ${namespace}/${secretName}`, error)
  )
  const problem = tokenProblem(options, plan, secret)
  if (problem !== undefined) return yield* refused(problem)
  const token = newToken(name)
  const until = (yield* Clock.currentTimeMillis) + tokenTime
  const writes = [
    tokenWrite(primary, token, until, secret),
    ...entryWrites(primary, { cluster: clusterName(name), entry: plan.entry })
  ]
  const done = apply ? yield* perform(writes) : undefined
  const dialled = { ...addresses, pin, token: apply ? tokenText(token) : undefined }
  return { request, primary, plan, dialled, until, writes, done }
})

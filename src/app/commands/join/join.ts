/**
 * Makes a cluster a member of a primary's fleet: looks at both, decides, tries the credentials, and writes if it is
 * asked to. Nothing is written before all that can be known is known to be right.
 *
 * Not here: the decisions (domain/commands/join), and how the outcome is printed (join-command.ts).
 */

import { Effect, type Scope } from "effect"
import { commonNameOf } from "../../../adapters/x509/read-certificate.ts"
import { type Finding, verdictOf } from "../../../domain/commands/doctor/finding.ts"
import { type Awaited } from "../../../domain/commands/join/awaited-cluster.ts"
import { credentialsStep } from "../../../domain/commands/join/credentials-step.ts"
import { type JoinPlan, planJoin } from "../../../domain/commands/join/join-plan.ts"
import type { JoinProvider, JoinRequest } from "../../../domain/commands/join/join-request.ts"
import type { MemberCredentials } from "../../../domain/fleet/credentials/member-credentials.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import type { Unanswered } from "../overview/ask-cluster.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { awaitCluster } from "./await-cluster.ts"
import { examineCloudMember } from "./examine-joining.ts"
import { findCredentials, givenPair, type PairFiles, secretData } from "./joining-credentials.ts"
import { findMember, memberAddress, type MemberChoice, type MemberCluster } from "./member-cluster.ts"
import { joinWrites, type JoinWrites, perform } from "./perform-join.ts"
import { findPrimary, type Primary, refused } from "./primary.ts"

export interface JoinOptions extends KubeConfigChoice, MemberChoice, PairFiles {
  readonly provider: JoinProvider
  /** Namespace of the primary's operator. */
  readonly namespace: string
  /** Take the place of what the member's kubeconfig says. */
  readonly server: string | undefined
  readonly caFile: string | undefined
  readonly region: string | undefined
  readonly tenantId: string | undefined
  readonly clientId: string | undefined
  readonly group: string | undefined
  /** Whether anything is written. */
  readonly apply: boolean
  readonly showSecrets: boolean
  /** Whether to wait for the operator, and how long at most. */
  readonly wait: boolean
  readonly waitSecs: number
  /** How long connecting, and each answer, may take. */
  readonly timeoutSecs: number
}

/** The outcome. */
export interface Joined {
  readonly request: JoinRequest
  readonly primary: Primary
  readonly plan: Extract<JoinPlan, { readonly _tag: "Join" }>
  /** How the member looks with the primary's eyes. With a failure nothing was written. */
  readonly findings: ReadonlyArray<Finding>
  readonly writes: JoinWrites
  /** `undefined` for a cluster that needs no Secret. */
  readonly credentials: MemberCredentials | undefined
  /** Sentences about what was written; `undefined` without `apply`. */
  readonly done: ReadonlyArray<string> | undefined
  /** `undefined` if it was not waited for. */
  readonly awaited: Awaited | undefined
}

const requestOf = (
  options: JoinOptions,
  cluster: MemberCluster,
  pair: MemberCredentials | undefined
): Effect.Effect<JoinRequest, Unanswered> =>
  Effect.map(memberAddress(cluster, options), (address) => ({
    ...address,
    name: options.name,
    provider: options.provider,
    namespace: options.memberNamespace,
    region: options.region,
    tenantId: options.tenantId,
    clientId: options.clientId,
    group: options.group,
    user: pair?._tag === "ClientCertificate" ? (commonNameOf(pair.certificatePem) ?? "") : undefined
  }))

/** The plan, if the cluster may join. */
const planned = (
  { namespace, pins, provided, sources, uid }: Primary,
  cluster: MemberCluster,
  request: JoinRequest
): Effect.Effect<Joined["plan"], Unanswered> => {
  const plan = planJoin(
    {
      request,
      documents: sources.documents,
      readsList: sources.clustersKey !== undefined,
      provided,
      identity: { found: cluster.uid, own: uid, pins, namespace },
      holder: cluster.holder
    },
    sha256Hex
  )
  return plan._tag === "Refused" ? refused(plan.problems.join(" ")) : Effect.succeed(plan)
}

type Tried = Pick<Joined, "credentials" | "findings"> & Pick<JoinWrites, "secret">

/** Credentials that were tried, and the Secret that they are for. */
const tried = Effect.fnUntraced(function* (
  options: JoinOptions,
  primary: Primary,
  cluster: MemberCluster,
  { member, pair }: { readonly pair: Parameters<typeof findCredentials>[0]["pair"] } & Pick<Joined["plan"], "member">
): Effect.fn.Return<Tried, Unanswered> {
  const { apply, showSecrets, timeoutSecs } = options
  if (member.auth._tag === "Eks" || member.auth._tag === "Aks") {
    const findings = yield* examineCloudMember(member, cluster, primary.installation, timeoutSecs)
    return { credentials: undefined, findings, secret: undefined }
  }
  const isToLast = apply || showSecrets
  const { credentials, findings, secret } = yield* findCredentials({
    primary,
    cluster,
    member,
    pair,
    isToLast,
    timeoutSecs
  })
  const step = credentialsStep(secret, member.name)
  if (step._tag === "Refused") return yield* refused(step.problem)
  return { credentials, findings, secret: { step, data: secretData(credentials) } }
})

/** Makes a cluster a member. Fails before anything is written, or names what was. */
export const join = Effect.fnUntraced(function* (
  options: JoinOptions
): Effect.fn.Return<Joined, Unanswered, Scope.Scope> {
  const primary = yield* findPrimary(options, options.namespace)
  const cluster = yield* findMember(options)
  const pair = yield* givenPair(options)
  const request = yield* requestOf(options, cluster, pair)
  const plan = yield* planned(primary, cluster, request)
  const { member } = plan
  const { credentials, findings, secret } = yield* tried(options, primary, cluster, { member, pair })
  const writes = { cluster: member.name, entry: plan.entry, secret }
  const outcome = { request, primary, plan, findings, writes, credentials }
  if (!options.apply || verdictOf(findings) === "failed") return { ...outcome, done: undefined, awaited: undefined }
  const done = yield* perform(joinWrites(primary, writes))
  const isAwaited = options.wait && plan.entry._tag !== "Upgrade"
  const awaited = isAwaited ? yield* awaitCluster(primary.api, member.name, options.waitSecs) : undefined
  return { ...outcome, done, awaited }
})

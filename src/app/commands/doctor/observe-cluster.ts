/**
 * Looks at one cluster for `braid doctor`, from the TLS handshake to the operator's answer; a step is made only if the
 * step before succeeded. Writes nothing.
 *
 * Not here: what the facts mean (domain/commands/doctor/examine-cluster.ts), and which clusters there are
 * (installation.ts).
 */

import { Clock, Effect, type Scope } from "effect"
import { makeClusterProbe } from "../../../adapters/kubernetes/cluster-probe.ts"
import { readCertificate } from "../../../adapters/x509/read-certificate.ts"
import {
  areUsable,
  type ClusterFacts,
  type ConnectionFacts,
  type CredentialFacts
} from "../../../domain/commands/doctor/cluster-facts.ts"
import type { ClusterProbe, Handshake } from "../../../ports/cluster-probe.ts"
import { askKinds } from "./ask-kinds.ts"
import { askOperator } from "./ask-operator.ts"
import { accountUser, askRights } from "./ask-rights.ts"
import type { ExaminedCluster } from "./examined-cluster.ts"
import { reviewBody, textAt, valueOf } from "./probe-answer.ts"

const notAsked = { _tag: "NotAsked" } as const

/** The facts of a cluster that was not asked anything. */
const nothingAsked = {
  version: notAsked,
  clock: undefined,
  user: notAsked,
  rights: [],
  kinds: [],
  operator: notAsked
} as const

const handshakeFacts = (probe: ClusterProbe, handshake: Handshake): ConnectionFacts =>
  handshake._tag !== "Connected"
    ? handshake
    : {
        _tag: "Connected",
        certificate: handshake.certificate === undefined ? undefined : readCertificate(handshake.certificate),
        distrust: handshake.distrust,
        hasOwnAuthority: probe.hasOwnAuthority,
        unchecked: probe.unchecked
      }

const connect = (probe: ClusterProbe): Effect.Effect<ConnectionFacts> =>
  probe.handshake === undefined
    ? Effect.succeed({ _tag: "NotTried", why: "The API server is asked without TLS." })
    : Effect.map(probe.handshake, (handshake) => handshakeFacts(probe, handshake))

/** Whether requests may be sent: credentials are shown to trusted servers only. */
const isTrusted = (connection: ConnectionFacts): boolean =>
  connection._tag === "NotTried" ||
  (connection._tag === "Connected" && (connection.distrust === undefined || connection.unchecked))

const originOf = (credentials: CredentialFacts): string => {
  switch (credentials._tag) {
    case "Token":
    case "Certificate":
    case "Other":
      return credentials.from
    case "Cloud":
      return credentials.auth._tag === "ExecPlugin" ? "its plugin" : "the operator's identity"
    case "CloudOfOperator":
    case "Unusable":
      return "the cluster"
  }
}

/** Describes unusable credentials: a file is missing, a program fails, or the key is unreadable or does not fit. */
const unusable = ({ credentials, part }: ExaminedCluster, problem: string): CredentialFacts => ({
  _tag: "Unusable",
  problem: `Credentials of ${originOf(credentials)} cannot be had: ` + `${problem.trim().replace(/\.$/u, "")}.`,
  fix:
    part === "own"
      ? "Correct that user of the kubeconfig: the files or the program that it names; or use another one: " +
        "--kubeconfig, --context."
      : "Put a certificate and the key that belongs to it, both as PEM, into that Secret."
})

/** The version of the API server and its clock. `isSilent`: it did not answer at all. */
interface VersionAnswer {
  readonly isSilent: boolean
  readonly facts: Pick<ClusterFacts, "version" | "clock">
}

const askVersion = Effect.fnUntraced(function* (probe: ClusterProbe): Effect.fn.Return<VersionAnswer> {
  // The first request connects, so that the clock is read in the second request, which is shorter.
  yield* probe.request("GET", "/version")
  const before = yield* Clock.currentTimeMillis
  const result = yield* probe.request("GET", "/version")
  const after = yield* Clock.currentTimeMillis
  return {
    isSilent: result.answer._tag === "NoAnswer",
    facts: {
      version: valueOf(result, textAt("gitVersion")),
      clock: result.date === undefined ? undefined : { server: result.date, before, after }
    }
  }
})

/** Asks with the credentials: for their user, for their rights, and for the kinds and the operator of the cluster. */
const askAsUser = Effect.fnUntraced(function* (
  probe: ClusterProbe,
  examined: ExaminedCluster
): Effect.fn.Return<Pick<ClusterFacts, "user"> & Partial<Pick<ClusterFacts, "rights" | "kinds" | "operator">>> {
  const user = valueOf(
    yield* probe.request(
      "POST",
      "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      reviewBody("SelfSubjectReview", "authentication.k8s.io", {})
    ),
    textAt("status", "userInfo", "username")
  )
  if (user._tag === "Refused" && user.code === 401) return { user }
  return {
    user,
    rights: yield* askRights(probe, examined),
    kinds: yield* askKinds(probe, examined),
    operator: yield* askOperator(probe)
  }
})

/**
 * Looks at one cluster; each answer decides what is asked next. Never fails and writes nothing. `timeoutSecs`: how long
 * connecting, and each answer, may take.
 */
export const observeCluster = (examined: ExaminedCluster, timeoutSecs: number): Effect.Effect<ClusterFacts> =>
  Effect.gen(function* (): Effect.gen.Return<ClusterFacts, never, Scope.Scope> {
    const probe = yield* makeClusterProbe(examined.config, timeoutSecs * 1000)
    const { account, config: _config, agentNamespace: _agentNamespace, kept: _kept, ...known } = examined
    const unasked = {
      ...known,
      ...nothingAsked,
      server: probe.server,
      now: yield* Clock.currentTimeMillis,
      rightsOf: account === undefined ? undefined : accountUser(account)
    }
    if (!URL.canParse(probe.server))
      return { ...unasked, connection: { _tag: "NotTried", why: "There is no usable address." } }
    const connection = yield* connect(probe)
    if (!isTrusted(connection)) return { ...unasked, connection }
    const problem = areUsable(examined.credentials) ? yield* probe.credentialsProblem : undefined
    if (problem !== undefined) return { ...unasked, connection, credentials: unusable(examined, problem) }
    const { facts, isSilent } = yield* askVersion(probe)
    const asked = { ...unasked, connection, ...facts }
    return isSilent || !areUsable(examined.credentials) ? asked : { ...asked, ...(yield* askAsUser(probe, examined)) }
  }).pipe(Effect.scoped)

import { Clock, Effect, Result, type Scope } from "effect"
import { makeClusterProbe } from "../../../adapters/kubernetes/cluster-probe.ts"
import { pathOf } from "../../../adapters/kubernetes/kube-api-http.ts"
import { readCertificate } from "../../../adapters/x509/read-certificate.ts"
import type { ClockReading } from "../../../domain/doctor/clock-skew.ts"
import type {
  Answer,
  ClusterFacts,
  ConnectionFacts,
  CredentialFacts,
  KindFact,
  OperatorFacts,
  RightFact
} from "../../../domain/doctor/cluster-facts.ts"
import { memberRights, type NeededRight, ownRights } from "../../../domain/doctor/needed-rights.ts"
import { eventNamespace } from "../../../domain/events/event-object.ts"
import { asObjects, asString, at } from "../../../domain/json.ts"
import { customResources } from "../../../domain/resources/custom-resource-definitions.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { mirrordOperators } from "../../../domain/resources/mirrord-operator.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import type { ClusterProbe, Handshake, ProbeResult } from "../../../ports/cluster-probe.ts"
import type { Patient } from "./examined-cluster.ts"

/** Requests at a time to one API server. */
const concurrency = 8
const notAsked = { _tag: "NotAsked" } as const

const valueOf = <T>({ answer }: ProbeResult, read: (body: unknown) => T | undefined): Answer<T> => {
  if (answer._tag !== "Answered") return answer
  const value = read(answer.value.body)
  return value === undefined
    ? { _tag: "NoAnswer", detail: "the answer is not what an API server answers" }
    : { _tag: "Answered", value }
}

const text =
  (...path: ReadonlyArray<string>) =>
  (body: unknown): string | undefined =>
    asString(at(body, ...path))

const review = (kind: string, group: string, spec: object): object => ({ apiVersion: `${group}/v1`, kind, spec })

const connectionFacts = (probe: ClusterProbe, handshake: Handshake): ConnectionFacts =>
  handshake._tag !== "Connected"
    ? handshake
    : {
        _tag: "Connected",
        certificate: handshake.certificate === undefined ? undefined : readCertificate(handshake.certificate),
        distrust: handshake.distrust,
        hasOwnAuthority: probe.hasOwnAuthority,
        unchecked: probe.unchecked
      }

const namespaceOf = ({ agentNamespace, namespace }: Patient, { scope }: NeededRight): string => {
  switch (scope) {
    case "cluster":
      return ""
    case "kube-system":
      return "kube-system"
    case "operator-namespace":
      return namespace
    case "agent-namespace":
      return agentNamespace
    case "event-namespace":
      return eventNamespace
  }
}

/** Asks for one verb: for the credentials themselves, or for a service account by name. */
const askRight = (
  probe: ClusterProbe,
  patient: Patient,
  right: NeededRight,
  verb: string
): Effect.Effect<RightFact> => {
  const [resource = "", subresource = ""] = right.resource.split("/")
  const resourceAttributes = {
    namespace: namespaceOf(patient, right),
    verb,
    group: right.group,
    resource,
    subresource,
    name: right.name ?? ""
  }
  const { account } = patient
  const subject =
    account === undefined
      ? {}
      : {
          user: accountUser(account),
          groups: ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`, "system:authenticated"]
        }
  const kind = account === undefined ? "SelfSubjectAccessReview" : "SubjectAccessReview"
  return Effect.map(
    probe.request(
      "POST",
      `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
      review(kind, "authorization.k8s.io", { resourceAttributes, ...subject })
    ),
    ({ answer }) => {
      const allowed = answer._tag === "Answered" ? at(answer.value.body, "status", "allowed") : undefined
      return { right, verb, allowed: typeof allowed === "boolean" ? allowed : undefined }
    }
  )
}

/** Files that are not there, a program that fails, a key that is none or not the certificate's. */
const unusable = ({ credentials, part }: Patient, problem: string): CredentialFacts => ({
  _tag: "Unusable",
  problem:
    `Credentials of ${"from" in credentials ? credentials.from : "the cluster"} cannot be had: ` +
    `${problem.trim().replace(/\.$/u, "")}.`,
  fix:
    part === "own"
      ? "Correct that user of the kubeconfig: the files or the program that it names; or use another one: " +
        "--kubeconfig, --context."
      : "Put a certificate and the key that belongs to it, both as PEM, into that Secret."
})

const accountUser = ({ name, namespace }: NonNullable<Patient["account"]>): string =>
  `system:serviceaccount:${namespace}:${name}`

const namesOf = (list: unknown, field: string): ReadonlyArray<string> =>
  asObjects(list).flatMap((item) => asString(item[field]) ?? [])

/** Names of what a version of a group serves, subresources included. */
const served = (body: unknown): ReadonlyArray<string> => namesOf(at(body, "resources"), "name")

/** In which versions of a group a resource is served. A group that is not there has none. */
const askGroup = (probe: ClusterProbe, group: string) =>
  Effect.gen(function* () {
    const listed = yield* probe.request("GET", `/apis/${group}`)
    if (listed.answer._tag === "Refused" && listed.answer.code === 404)
      return (): Answer<ReadonlyArray<string>> => ({ _tag: "Answered", value: [] })
    const versions = valueOf(listed, (body) => namesOf(at(body, "versions"), "version"))
    if (versions._tag !== "Answered") return (): Answer<ReadonlyArray<string>> => versions
    const found = yield* Effect.forEach(versions.value, (version) =>
      Effect.map(probe.request("GET", `/apis/${group}/${version}`), (result) => ({
        version,
        plurals: valueOf(result, served)
      }))
    )
    return (plural: string, version: string): Answer<ReadonlyArray<string>> => {
      // An error of another version, such as one of an operator that is away, is no error of this one.
      const own = found.find((one) => one.version === version)?.plurals
      if (own !== undefined && own._tag !== "Answered") return own
      return {
        _tag: "Answered",
        value: found.flatMap((one) =>
          one.plurals._tag === "Answered" && one.plurals.value.includes(plural) ? [one.version] : []
        )
      }
    }
  })

const askKinds = (probe: ClusterProbe, { part, role }: Patient): Effect.Effect<ReadonlyArray<KindFact>> =>
  Effect.gen(function* () {
    const isRequired = (plural: string): boolean =>
      plural === mirrordClusterSessions.plural ||
      (part === "own" && role._tag === "Primary" && plural === mirrordMultiClusterSessions.plural)
    const kinds = customResources.filter(
      ({ installedWith, plural }) => installedWith.length === 0 || isRequired(plural)
    )
    const groups = [...new Set(kinds.map(({ group }) => group))]
    const answers = new Map(
      yield* Effect.forEach(
        groups,
        (group) => Effect.map(askGroup(probe, group), (answer) => [group, answer] as const),
        { concurrency }
      )
    )
    return kinds.map(({ group, plural, version }) => ({
      group,
      plural,
      version,
      need: isRequired(plural) ? "required" : "usual",
      served: answers.get(group)?.(plural, version) ?? notAsked
    }))
  })

const describeOperator = (body: unknown): OperatorFacts | undefined => {
  const operator = readResource(mirrordOperators, body)
  if (Result.isFailure(operator)) return undefined
  const {
    operator_version: version,
    protocol_version: protocolVersion,
    supported_features: features
  } = operator.success.spec
  return { version, protocolVersion: protocolVersion ?? undefined, features: features ?? [] }
}

/** Who may not read the operator's object learns from its discovery, which everybody may read, that it serves. */
const askOperator = (probe: ClusterProbe): Effect.Effect<Answer<OperatorFacts>> =>
  Effect.gen(function* () {
    const answer = valueOf(
      yield* probe.request("GET", pathOf(mirrordOperators, undefined, "operator")),
      describeOperator
    )
    if (answer._tag !== "Refused" || answer.code !== 403) return answer
    const { group, plural, version } = mirrordOperators
    return valueOf(yield* probe.request("GET", `/apis/${group}/${version}`), (body) =>
      served(body).includes(plural) ? { version: undefined, protocolVersion: undefined, features: [] } : undefined
    )
  })

/**
 * Looks at one cluster: what is asked depends on what was answered before. Never fails and writes nothing.
 * `timeoutSecs`: how long connecting, and each answer, may take.
 */
export const observeCluster = (patient: Patient, timeoutSecs: number): Effect.Effect<ClusterFacts> =>
  Effect.gen(function* (): Effect.gen.Return<ClusterFacts, never, Scope.Scope> {
    const probe = yield* makeClusterProbe(patient.config, timeoutSecs * 1000)
    const begin = yield* Clock.currentTimeMillis
    const known = {
      name: patient.name,
      part: patient.part,
      isDefault: patient.isDefault,
      role: patient.role,
      namespace: patient.namespace,
      server: probe.server,
      now: begin,
      problems: patient.problems,
      credentials: patient.credentials,
      rightsOf: patient.account === undefined ? undefined : accountUser(patient.account)
    }
    const nothing = { version: notAsked, clock: undefined, user: notAsked, rights: [], kinds: [], operator: notAsked }
    if (!URL.canParse(probe.server))
      return { ...known, ...nothing, connection: { _tag: "NotTried", why: "There is no usable address." } }
    const connection: ConnectionFacts =
      probe.handshake === undefined
        ? { _tag: "NotTried", why: "The API server is asked without TLS." }
        : connectionFacts(probe, yield* probe.handshake)
    const isTrusted =
      connection._tag === "NotTried" ||
      (connection._tag === "Connected" && (connection.distrust === undefined || connection.unchecked))
    const hasCredentials = patient.credentials._tag !== "Unusable" && patient.credentials._tag !== "Unsupported"
    if (!isTrusted) return { ...known, ...nothing, connection }
    const problem = hasCredentials ? yield* probe.credentialsProblem : undefined
    if (problem !== undefined) return { ...known, ...nothing, connection, credentials: unusable(patient, problem) }

    // Connects, so that the clock is read in the shorter second request.
    yield* probe.request("GET", "/version")
    const before = yield* Clock.currentTimeMillis
    const first = yield* probe.request("GET", "/version")
    const after = yield* Clock.currentTimeMillis
    const clock: ClockReading | undefined = first.date === undefined ? undefined : { server: first.date, before, after }
    const seen = { ...known, ...nothing, connection, version: valueOf(first, text("gitVersion")), clock }
    if (!hasCredentials || first.answer._tag === "NoAnswer") return seen

    const user = valueOf(
      yield* probe.request(
        "POST",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        review("SelfSubjectReview", "authentication.k8s.io", {})
      ),
      text("status", "userInfo", "username")
    )
    if (user._tag === "Refused" && user.code === 401) return { ...seen, user }
    const needed = patient.part === "own" ? ownRights(patient.role) : memberRights
    const verbs = needed.flatMap((right) => right.verbs.map((verb) => ({ right, verb })))
    return {
      ...seen,
      user,
      rights: yield* Effect.forEach(verbs, ({ right, verb }) => askRight(probe, patient, right, verb), { concurrency }),
      kinds: yield* askKinds(probe, patient),
      operator: yield* askOperator(probe)
    }
  }).pipe(Effect.scoped)

import { Clock, Effect, Exit, Latch, Queue, Redacted, Result, Scope } from "effect"
import { credentialsLabel } from "../../domain/credentials/cluster-auth.ts"
import { readPem } from "../../domain/credentials/pem.ts"
import { type ClusterName, credentialsSecretName, type Sha256Hex } from "../../domain/fleet/cluster-name.ts"
import type { MemberConfiguration, FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { workloadClusters, type WorkloadCluster } from "../../domain/fleet/roles.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../domain/resources/mirrord-cluster-session.ts"
import type { ClusterReach } from "../../domain/session/observed-session.ts"
import { type ClusterAccess, ClusterConnector, type MemberCredentials } from "../../ports/cluster-connector.ts"
import type { KubeError, KubeObject, ResourceRef } from "../../ports/kube-api.ts"
import { isHeartbeatOnly } from "../kernel/heartbeat-only.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"

const operators: ResourceRef = {
  group: "operator.metalbear.co",
  version: "v1",
  plural: "mirrordoperators",
  scope: "Cluster"
}

/** How often a cluster's operator is asked how it is, and how long it may take, in ms. */
const checkEvery = 5_000
const checkTimeout = 5_000
/** How often one that is lost, or about which nothing is known yet, is asked, in ms: sessions wait for it. */
const checkAgainEvery = 1_000
/** After the first failed check of a cluster that was well, in ms: an API server that is restarted is no loss. */
const reconsiderAfter = 3_000
/** How long that one may take which decides on a loss: a client is to be refused within 10 s. */
const decisiveTimeout = 3_000
/** Failed checks in a row after which a cluster counts as lost that was well, or that nobody has looked at before. */
const lostAfter = 2

export type ClusterHealth =
  | {
      readonly _tag: "Connected"
      readonly operatorVersion: string
      readonly fingerprint: string | undefined
      readonly parametersInHeader: boolean
    }
  | { readonly _tag: "Error"; readonly message: string }

/** What a look at a cluster found; times are epoch ms. */
export interface ClusterLook {
  /** When it was begun: what changed in the cluster since is not in it. Missing where it is known without a look. */
  readonly askedAt?: number
  readonly checkedAt: number
  readonly health: ClusterHealth
}

/** One workload cluster of the fleet. */
export interface FleetCluster {
  readonly name: ClusterName
  readonly isDefault: boolean
  /** Missing while the cluster is not engaged: no credentials, or they are unusable. */
  readonly access: () => ClusterAccess | undefined
  /** The cluster's `MirrordClusterSession`s; missing while it is not engaged. */
  readonly children: () => Reflector | undefined
  /** Since when the children cannot be read, epoch ms, if so. */
  readonly unreadableSince: () => number | undefined
  readonly health: () => ClusterLook | undefined
  readonly reach: () => ClusterReach
}

export interface Fleet {
  readonly clusters: ReadonlyMap<ClusterName, FleetCluster>
  /** Opens when of each cluster it is known whether it is well. */
  readonly checked: Effect.Effect<void>
}

export interface FleetEvents {
  /** A child of some parent changed in a cluster. */
  readonly childChanged: (cluster: ClusterName, child: KubeObject) => void
  /**
   * A cluster was lost, came back or was engaged, or its sessions became readable or unreadable. Never called before
   * the fleet is made.
   */
  readonly reachChanged: (cluster: ClusterName) => void
}

const decodeBase64 = (text: unknown): string | undefined =>
  typeof text === "string" ? Buffer.from(text, "base64").toString("utf8") : undefined

/** The credentials that a cluster's Secret holds for its `authType`, or what is missing. */
export const readCredentials = (
  member: MemberConfiguration,
  name: string,
  secret: KubeObject | undefined
): MemberCredentials | string => {
  if (secret === undefined)
    return `its Secret ${name} with label ${credentialsLabel}=true does not exist; create it beside the operator`
  const data = (secret["data"] ?? {}) as Readonly<Record<string, unknown>>
  switch (member.auth._tag) {
    case "BearerToken": {
      const token = decodeBase64(data["bearerToken"])?.trim()
      return token === undefined || token === ""
        ? `its Secret ${name} has no bearerToken; create one with \`kubectl create token\` on the member`
        : { _tag: "BearerToken", token: Redacted.make(token) }
    }
    case "Mtls": {
      const certificate = readPem(decodeBase64(data["tls.crt"]) ?? "")
      if (Result.isFailure(certificate)) return `key tls.crt of its Secret ${name} is unusable: ${certificate.failure}`
      const key = readPem(decodeBase64(data["tls.key"]) ?? "")
      if (Result.isFailure(key)) return `key tls.key of its Secret ${name} is unusable: ${key.failure}`
      return { _tag: "ClientCertificate", certificatePem: certificate.success, keyPem: Redacted.make(key.success) }
    }
    case "Eks":
    case "Aks":
      return `authType ${member.auth._tag.toLowerCase()} is not supported yet; use bearerToken or mtls for this cluster`
  }
}

const describeHealth = (operator: KubeObject): ClusterHealth => {
  const spec = (operator["spec"] ?? {}) as {
    readonly operator_version?: unknown
    readonly license?: { readonly fingerprint?: unknown }
    readonly supported_features?: unknown
  }
  const fingerprint = spec.license?.fingerprint
  return {
    _tag: "Connected",
    operatorVersion: String(spec.operator_version ?? "unknown"),
    fingerprint: typeof fingerprint === "string" ? fingerprint : undefined,
    parametersInHeader:
      Array.isArray(spec.supported_features) && spec.supported_features.includes("ConnectParamsInHeader")
  }
}

/** Whether a PEM text is the same cluster's Secret content as before, so that re-engaging is not needed. */
const sameCredentials = (a: MemberCredentials | string | undefined, b: MemberCredentials | string): boolean => {
  if (typeof a === "string" || typeof b === "string" || a === undefined) return a === b
  if (a._tag === "BearerToken" && b._tag === "BearerToken") return Redacted.value(a.token) === Redacted.value(b.token)
  return a._tag === "ClientCertificate" && b._tag === "ClientCertificate"
    ? a.certificatePem === b.certificatePem && Redacted.value(a.keyPem) === Redacted.value(b.keyPem)
    : false
}

const makeCluster = (cluster: WorkloadCluster, own: ClusterHealth, events: FleetEvents, checked: Latch.Latch) =>
  Effect.gen(function* () {
    /**
     * The operator asks others how they are. About itself it knows, and needs to know only that its API server answers.
     */
    const ask = ({ api }: ClusterAccess): Effect.Effect<ClusterHealth, KubeError> =>
      cluster.member === undefined
        ? Effect.as(api.list(mirrordClusterSessions), own)
        : Effect.map(api.get(operators, "operator"), describeHealth)
    const parent = yield* Effect.scope
    let engaged:
      | { readonly access: ClusterAccess; readonly children: Reflector; readonly scope: Scope.Closeable }
      | undefined
    const clock = yield* Clock.Clock
    let obstacle: string | undefined = "it has not been connected yet"
    let obstacleSince = clock.currentTimeMillisUnsafe()
    let look: ClusterLook | undefined
    let failures = 0
    /** Missing until it was found out: a cluster that nobody has looked at yet is not lost. */
    let reachable: boolean | undefined
    let unreadableSince: number | undefined

    const isReadable = (): boolean =>
      engaged !== undefined && engaged.children.synced() && engaged.children.problem() === undefined

    const setReachable = (next: boolean | undefined): void => {
      if (reachable === next) return
      reachable = next
      events.reachChanged(cluster.name)
    }

    const leave = (): Effect.Effect<void> => {
      const { scope } = engaged ?? {}
      engaged = undefined
      return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
    }

    const disengage = (why: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        obstacle = why
        obstacleSince = clock.currentTimeMillisUnsafe()
        setReachable(false)
        return leave()
      })

    const nextCheckIn = (): number => {
      if (failures === 0) return checkEvery
      return reachable === true ? reconsiderAfter : checkAgainEvery
    }

    /** Takes the place of an earlier engagement: new credentials alone are no loss of the cluster. */
    const engage = (access: Effect.Effect<ClusterAccess, never, Scope.Scope>): Effect.Effect<void> =>
      Effect.gen(function* () {
        yield* leave()
        unreadableSince = yield* Clock.currentTimeMillis
        const scope = yield* Scope.fork(parent)
        const made = yield* access.pipe(Scope.provide(scope))
        const children = yield* makeReflector(made.api, mirrordClusterSessions, (child, deleted, before) => {
          if (deleted || !isHeartbeatOnly(before, child)) events.childChanged(cluster.name, child)
        }).pipe(Scope.provide(scope))
        engaged = { access: made, children, scope }
        // What kept it away says nothing of how it is: it is looked at as if for the first time.
        if (obstacle !== undefined) {
          obstacle = undefined
          look = undefined
          failures = 0
          setReachable(undefined)
        }
        // Without any child there is no event that says that the children are known now.
        yield* Effect.forkIn(
          Effect.andThen(children.awaitSynced, () => Effect.sync(() => events.reachChanged(cluster.name))),
          scope
        )
        const pause = Effect.suspend(() => Effect.sleep(nextCheckIn()))
        yield* Effect.forkIn(Effect.forever(Effect.andThen(check, () => pause)), scope)
      })

    const check: Effect.Effect<void> = Effect.gen(function* () {
      if (engaged === undefined) return
      const isDecisive = failures > 0 && reachable !== false
      const askedAt = yield* Clock.currentTimeMillis
      const result = yield* ask(engaged.access).pipe(
        Effect.timeoutOrElse({
          duration: isDecisive ? decisiveTimeout : checkTimeout,
          orElse: () => Effect.fail({ message: "its operator did not answer in time" })
        }),
        Effect.result
      )
      const now = yield* Clock.currentTimeMillis
      const wasReadable = unreadableSince === undefined
      unreadableSince = isReadable() ? undefined : (unreadableSince ?? now)
      if (wasReadable !== isReadable()) events.reachChanged(cluster.name)
      if (result._tag === "Success") {
        const wasWell = reachable === true && failures === 0
        failures = 0
        // The API server and the operator answer: what is left of the reflector's pause would only keep sessions
        // waiting.
        if (engaged.children.problem() !== undefined) engaged.children.retryNow()
        // A cluster that has just come back, be it from one failed check, gets the usual time for the list: its silence
        // until now says nothing any more.
        if (!wasWell && !isReadable()) unreadableSince = now
        look = { askedAt, checkedAt: now, health: result.success }
        setReachable(true)
      } else {
        failures++
        // Until then what was known last is the better guess: also links are made by what the operator said that it
        // can.
        if (failures >= lostAfter || reachable === false) {
          look = { askedAt, checkedAt: now, health: { _tag: "Error", message: result.failure.message } }
          setReachable(false)
        }
      }
      if (reachable !== undefined) checked.openUnsafe()
    })

    const health = (): ClusterLook | undefined =>
      obstacle === undefined ? look : { checkedAt: obstacleSince, health: { _tag: "Error", message: obstacle } }
    const reach = (): ClusterReach => {
      if (reachable !== false) return { reachable: true, error: undefined }
      const known = health()
      const error = known?.health._tag === "Error" ? known.health.message : "it does not answer"
      return { reachable, error, ...(known?.askedAt === undefined ? {} : { askedAt: known.askedAt }) }
    }
    const view: FleetCluster = {
      name: cluster.name,
      isDefault: cluster.isDefault,
      access: () => engaged?.access,
      children: () => engaged?.children,
      unreadableSince: () => (isReadable() ? undefined : unreadableSince),
      health,
      reach
    }
    return { view, engage, disengage }
  })

/**
 * Keeps a connection to every workload cluster: engages one as soon as its credentials are there, again when they
 * change, and asks each operator regularly how it is.
 */
export const makeFleet = (
  configuration: FleetConfiguration,
  operatorNamespace: string,
  sha256Hex: Sha256Hex,
  own: ClusterHealth,
  events: FleetEvents
): Effect.Effect<Fleet, never, ClusterConnector | Scope.Scope> =>
  Effect.gen(function* () {
    const connector = yield* ClusterConnector
    const clusters = new Map<ClusterName, FleetCluster>()
    let isMade = false
    const afterwards: FleetEvents = {
      childChanged: (cluster, child) => {
        if (isMade) events.childChanged(cluster, child)
      },
      reachChanged: (cluster) => {
        if (isMade) events.reachChanged(cluster)
      }
    }
    const latches: Array<Latch.Latch> = []
    /** By name of the Secret: where its newest version is to be put. */
    const inboxes = new Map<string, Queue.Queue<KubeObject | undefined>>()

    for (const cluster of workloadClusters(configuration)) {
      const checked = yield* Latch.make(false)
      latches.push(checked)
      const { disengage, engage, view } = yield* makeCluster(cluster, own, afterwards, checked)
      clusters.set(cluster.name, view)
      const { member } = cluster
      if (member === undefined) {
        yield* engage(Effect.succeed(connector.local))
        continue
      }
      if (member.problems.length > 0) {
        yield* disengage(member.problems.join(" "))
        checked.openUnsafe()
        continue
      }
      const inbox = yield* Queue.sliding<KubeObject | undefined>(1)
      const secretName = credentialsSecretName(member.name, sha256Hex)
      inboxes.set(secretName, inbox)
      let current: MemberCredentials | string | undefined
      const apply = Effect.fnUntraced(function* (secret: KubeObject | undefined) {
        const credentials = readCredentials(member, secretName, secret)
        if (sameCredentials(current, credentials)) return
        current = credentials
        if (typeof credentials === "string") {
          yield* disengage(credentials)
          checked.openUnsafe()
        } else {
          yield* engage(connector.member(member, credentials))
        }
      })
      yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.take(inbox), apply)))
    }

    if (inboxes.size > 0) {
      const reflector = yield* makeReflector(
        connector.local.api,
        secrets,
        (secret, deleted) => {
          const inbox = inboxes.get(secret.metadata.name)
          if (inbox !== undefined) Queue.offerUnsafe(inbox, deleted ? undefined : secret)
        },
        { namespace: operatorNamespace, labelSelector: `${credentialsLabel}=true` }
      )
      // Clusters whose Secret is not there after the first list are told so.
      const tellMissing = Effect.sync(() => {
        for (const [name, inbox] of inboxes) {
          if (reflector.get(name, operatorNamespace) === undefined) Queue.offerUnsafe(inbox, undefined)
        }
      })
      yield* Effect.forkScoped(Effect.andThen(reflector.awaitSynced, () => tellMissing))
    }
    // Whoever listens may use the fleet, so nothing is told before there is one; what happened meanwhile is told then.
    yield* Effect.forkScoped(
      Effect.andThen(Effect.yieldNow, () =>
        Effect.sync(() => {
          isMade = true
          for (const name of clusters.keys()) events.reachChanged(name)
        })
      )
    )
    return {
      clusters,
      checked: Effect.forEach(latches, (latch) => latch.await, { discard: true, concurrency: "unbounded" })
    }
  })

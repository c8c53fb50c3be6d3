/**
 * Features are advertised exactly when they work: by each role, every feature that a client knows is used as the client
 * uses it. A feature that is advertised must be served, and one that is not must be refused with its sentence.
 */

import { IncomingMessage } from "node:http"
import { Socket } from "node:net"
import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { apiResourceList } from "../../../src/app/api/discovery.ts"
import type { ConnectRequest } from "../../../src/app/api/operator-facade.ts"
import { readConnectRequest, targetPath } from "../../../src/app/api/read-connect-request.ts"
import { copyLabel } from "../../../src/domain/copies/copy-record.ts"
import { at } from "../../../src/domain/json.ts"
import type { CopyTarget } from "../../../src/domain/resources/copy-target.ts"
import { deployments, pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { Feature, MirrordOperator } from "../../../src/domain/resources/mirrord-operator.ts"
import { connectParamsHeader } from "../../../src/domain/sessions/connect-request.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, memberOf, startWorld } from "../../support/memory-session.ts"
import {
  deploy,
  type MemoryCluster,
  memoryCluster,
  primaryIdentity,
  startSingleOperator
} from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"

/** A user in front of an operator. */
interface Seat {
  /** The operator's cluster. */
  readonly cluster: MemoryCluster
  /** The clusters where workloads run. */
  readonly workloads: ReadonlyArray<MemoryCluster>
  readonly certificate: string
  /** The id of a new session. */
  readonly nextId: () => string
}

/** The sentence of a refusal; nothing where the feature is served. */
type Refused = string | undefined

/** Uses a feature as the client does where it is advertised. */
type Use = (seat: Seat) => Effect.Effect<Refused, unknown, Scope.Scope>

interface Used {
  readonly use: Use
  /** The refusal by an operator that does not advertise it, or why there is none. Missing: every operator does. */
  readonly elsewhere?: RegExp | { readonly because: string }
}

/** A feature that is never advertised, or always, whatever works. */
interface Exempt {
  readonly isAdvertised: boolean
  readonly because: string
}

const operatorOf = ({ cluster: { operator } }: Seat) =>
  operator === undefined ? Effect.die("there is no operator") : Effect.succeed(operator)

/** A connect as the client sends it, read from its upgrade. */
const upgrade = ({ certificate, nextId }: Seat, more: Readonly<Record<string, string>> = {}): ConnectRequest => {
  const headers = {
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol": "v4.channel.k8s.io",
    "x-session-id": nextId(),
    "x-client-der": certificate,
    ...more
  }
  const headersDistinct = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
  const incoming = Object.assign(new IncomingMessage(new Socket()), { method: "GET", headers, headersDistinct })
  const path = "/proxy/namespaces/default/targets/deployment.myapp"
  const { caller, query } = request(certificate)
  return Result.getOrThrow(
    readConnectRequest({ request: incoming, caller, path, query }, targetPath.exec(path)?.groups ?? {})
  )
}

const connecting = ({ cluster }: Seat, wanted: ConnectRequest): Effect.Effect<Refused, never, Scope.Scope> =>
  Effect.map(connectTo(cluster, wanted), (answer) => (Result.isFailure(answer) ? answer.failure.message : undefined))

/** A connect with further parameters. */
const asking =
  (parameters: Readonly<Record<string, unknown>>, change: Partial<ConnectRequest> = {}): Use =>
  (seat) => {
    const texts = Object.entries(parameters).map(([name, value]): [string, string] => [name, JSON.stringify(value)])
    const query = new URLSearchParams([["connect", "true"], ...texts]).toString()
    return connecting(seat, request(seat.certificate, { sessionId: seat.nextId(), query, ...change }))
  }

const splitting = (broker: string, ...names: ReadonlyArray<string>): Used => ({
  use: asking(
    Object.fromEntries(names.map((name) => [name, { orders: name.endsWith("_filters") ? "." : { a: "b" } }]))
  ),
  elsewhere: new RegExp(`does not serve queue splitting for ${broker} `)
})

const branching = (name: string): Used => ({
  use: asking({ [name]: ["ann-branch"] }),
  elsewhere: /does not serve database branches/
})

/** The copies of targets in all clusters. */
const copiesOf = ({ workloads }: Seat) =>
  workloads.flatMap(({ api }) =>
    api.peekAll(pods).flatMap((pod) => (pod.metadata.labels?.[copyLabel] === undefined ? [] : [{ api, pod }]))
  )

/** The kubelets: the containers of all copies run. */
const runCopies = (seat: Seat): void => {
  for (const { api, pod } of copiesOf(seat)) {
    const containerStatuses = [{ name: "myapp", ready: true, containerID: "containerd://copy" }]
    const status = { phase: "Running", podIPs: [{ ip: "10.0.0.2" }], containerStatuses }
    api.write(pods, pod.metadata.name, { spec: { nodeName: "node" }, status }, "default")
  }
}

/** Asks for a copy, and waits for it. */
const copying =
  (more: object, check: (seat: Seat, copy: CopyTarget) => Effect.Effect<Refused, unknown, Scope.Scope>): Use =>
  (seat) =>
    Effect.gen(function* () {
      const operator = yield* operatorOf(seat)
      const target = { deployment: "myapp", container: null }
      const spec = { target, idle_ttl: 30, scale_down: false, split_queues: null, ...more }
      const asked = { ...request(seat.certificate), caller: copier, body: { metadata: { name: "deploy.myapp" }, spec } }
      const answer = yield* Effect.result(operator.createCopyTarget(asked))
      if (Result.isFailure(answer)) return answer.failure.message
      yield* pass("1 second")
      runCopies(seat)
      yield* pass("1 second")
      return yield* check(seat, answer.success as CopyTarget)
    })

/** A user whom the API server lets connect, which the operator asks for each copy. */
const copier = { user: "carl", groups: [], extra: {} }

/** The object of a session over many clusters, by the id that its client sends. */
const parentOf = (id = "0"): string => `mc-${BigInt(id).toString(16).padStart(16, "0")}`

/** Connects as the primary of a session over many clusters connects to its part here. */
const linking: Use = (seat) =>
  Effect.gen(function* () {
    const { api } = seat.cluster
    const sessionId = seat.nextId()
    const parent = parentOf(sessionId)
    const target = { apiVersion: "apps/v1", kind: "Deployment", name: "myapp", container: "" }
    const owner = { userId: "id", username: "ann", hostname: "laptop", k8sUsername: "ann" }
    const spec = { namespace: "default", owner, target, multiClusterParentName: parent }
    yield* api.create(mirrordClusterSessions, { metadata: { name: `${parent}-a` }, spec })
    return yield* connecting(seat, request(undefined, { caller: primaryIdentity, sessionId }))
  })

const notAsked: Exempt = { isAdvertised: false, because: "the client never looks for it" }

/** Every feature that a client knows: how it is used, or why it is not. */
const features: Readonly<Record<Feature, Used | Exempt>> = {
  ProxyApi: { use: (seat) => connecting(seat, upgrade(seat)) },
  CopyTarget: {
    use: copying({}, (seat, { metadata, status }) => {
      const sessionId = String(BigInt(`0x${status.creator_session.id ?? ""}`))
      const copy = { isCopy: true, target: metadata.name, sessionId, caller: copier, query: "connect=true" }
      return connecting(seat, request(seat.certificate, copy))
    }),
    elsewhere: /makes no copies of targets: its administrator has switched them off/
  },
  CopyTargetExcludeContainers: {
    use: copying({ exclude_containers: ["side"] }, (seat, { metadata: { name } }) => {
      const copies = copiesOf(seat).filter(({ pod }) => pod.metadata.name === name)
      const containers = copies.map(({ pod }) => at(pod, "spec", "containers") as ReadonlyArray<object>)
      const isOut = copies.length > 0 && containers.every(({ length }) => length === 1)
      return Effect.succeed(isOut ? undefined : "The container is in the copy.")
    }),
    elsewhere: /makes no copies of targets/
  },
  SessionManagement: {
    use: (seat) =>
      Effect.gen(function* () {
        const operator = yield* operatorOf(seat)
        const wanted = upgrade(seat)
        const refused = yield* connecting(seat, wanted)
        if (refused !== undefined) return refused
        const hex = BigInt(wanted.sessionId ?? "").toString(16)
        const isListed = Effect.map(operator.listSessions(undefined), (list) =>
          JSON.stringify(list).includes(`"${hex}"`)
        )
        if (!(yield* isListed)) return "The session is in no list."
        yield* operator.deleteSession(hex, wanted.caller)
        yield* pass("5 seconds")
        return (yield* isListed) ? "The session cannot be stopped." : undefined
      })
  },
  SqsQueueSplitting: splitting("SQS", "sqs_splits"),
  KafkaQueueSplitting: splitting("Kafka", "kafka_splits"),
  LayerReconnect: {
    use: (seat) =>
      Effect.gen(function* () {
        const wanted = upgrade(seat)
        const lost = yield* Scope.make()
        const refused = yield* Scope.provide(connecting(seat, wanted), lost)
        const sessions = () => JSON.stringify(sessionUids(seat))
        const before = sessions()
        yield* Scope.close(lost, Exit.void)
        yield* pass("2 seconds")
        const again = yield* connecting(seat, wanted)
        return refused ?? again ?? (sessions() === before ? undefined : "It is another session.")
      })
  },
  KafkaQueueSplittingDirect: splitting("Kafka", "kafka_splits"),
  SqsQueueSplittingDirect: splitting("SQS", "sqs_splits"),
  MySqlBranching: branching("mysql_branch_names"),
  ExtendableUserCredentials: {
    use: (seat) =>
      Effect.gen(function* () {
        const resource = apiResourceList.resources.find(({ name }) => name === "mirrordclusteroperatorusercredentials")
        if (resource?.verbs.includes("create") !== true) return "Discovery names no such resource."
        return yield* connecting(seat, upgrade({ ...seat, certificate: yield* certificateOf(seat.cluster) }))
      })
  },
  PgBranching: branching("pg_branch_names"),
  CockroachdbBranching: branching("branch_db_names"),
  BypassCiCertificateVerification: notAsked,
  MongodbBranching: branching("mongodb_branch_names"),
  MultiClusterPrimary: {
    use: (seat) =>
      Effect.gen(function* () {
        const wanted = upgrade(seat)
        const refused = yield* connecting(seat, wanted)
        const parent = seat.cluster.api.peek(mirrordMultiClusterSessions, parentOf(wanted.sessionId))
        return refused ?? (parent === undefined ? "The session is of this cluster alone." : undefined)
      }),
    elsewhere: /of this cluster alone/
  },
  MultiClusterRemote: {
    use: linking,
    elsewhere: {
      because: "a primary links to the parts of its own sessions alone, as no fleet has a primary as member"
    }
  },
  SqsQueueSplittingWithJqFilter: splitting("SQS", "sqs_jq_filters"),
  KafkaQueueSplittingWithJqFilter: splitting("Kafka", "kafka_jq_filters"),
  PreviewEnv: { isAdvertised: false, because: "the client then makes no PreviewSession, which nothing would act on" },
  UnifiedBranchDbCrd: {
    isAdvertised: true,
    because: "without it the client leaves branches of some databases out in silence; with it they are refused"
  },
  RmqQueueSplitting: splitting("RabbitMQ", "rmq_splits"),
  GcpPubSubQueueSplitting: splitting("Google Pub/Sub", "gcp_pubsub_splits", "gcp_pubsub_jq_filters"),
  RedisPubSubQueueSplitting: splitting("Redis Pub/Sub", "redis_pubsub_splits", "redis_pubsub_jq_filters"),
  TemporalQueueSplitting: splitting("Temporal", "temporal_splits", "temporal_jq_filters"),
  ConnectParamsInHeader: {
    use: (seat) =>
      Effect.gen(function* () {
        const key = `key-in-header-${seat.nextId()}`
        const packed = Buffer.from(`connect=true&key=${key}`).toString("base64")
        const refused = yield* connecting(seat, upgrade(seat, { [connectParamsHeader]: packed }))
        const isThere = JSON.stringify(sessionsOf(seat)).includes(key)
        return refused ?? (isThere ? undefined : "The parameters in the header were not read.")
      })
  },
  BullMqQueueSplitting: splitting("BullMQ", "bullmq_splits", "bullmq_jq_filters"),
  GenericDbBranching: branching("branch_db_names"),
  CopyTargetFilterIsolation: { isAdvertised: false, because: "it only changes the text of a warning" },
  LabelTargeting: {
    use: asking({ label_target: { labels: { app: "myapp" } } }, { target: "label" }),
    elsewhere: /runs no workloads; leave multi_cluster unset and target a workload by its name/
  },
  MariaDbBranching: branching("branch_db_names"),
  DbBranchCustomImage: branching("branch_db_names"),
  DbBranchProfiles: branching("branch_db_names"),
  DiagnosticPing: {
    isAdvertised: true,
    because: "the API answers it without a role: test/app/api/answer-pings.test.ts"
  },
  KafkaQueueSplittingWithProtobufDecoding: {
    use: asking({ kafka_protobuf_decoding: { orders: { descriptor_base64: "", message_type: "m" } } }),
    elsewhere: /does not serve queue splitting for Kafka /
  },
  PgBranchQueryParams: branching("pg_branch_names")
}

/** The objects of the sessions that the operator has made. */
const sessionsOf = ({ cluster: { api } }: Seat) => [
  ...api.peekAll(mirrordMultiClusterSessions),
  ...api.peekAll(mirrordClusterSessions)
]

const sessionUids = (seat: Seat) => sessionsOf(seat).map(({ metadata }) => metadata.uid)

/** A seat before an operator that has started. */
const sitDown = Effect.fnUntraced(function* (cluster: MemoryCluster, workloads: ReadonlyArray<MemoryCluster>) {
  let last = 254
  for (const { api, trusted } of [cluster, ...workloads]) {
    trusted.add(copier.user)
    if (api.peek(deployments, "myapp", "default") === undefined) continue
    const containers = ["myapp", "side"].map((name) => ({ name, image: name }))
    const template = { metadata: { labels: { app: "myapp" } }, spec: { containers } }
    api.write(deployments, "myapp", { spec: { template, replicas: 1 } }, "default")
  }
  const seat: Seat = {
    cluster,
    workloads,
    certificate: yield* certificateOf(cluster),
    nextId: () => String((last += 1))
  }
  return seat
})

const single = Effect.fnUntraced(function* (limits = {}) {
  yield* TestClock.setTime(Date.UTC(2026, 10, 21))
  const cluster = memoryCluster("a")
  deploy(cluster, "myapp")
  yield* startSingleOperator(cluster, limits)
  yield* pass("1 second")
  return yield* sitDown(cluster, [cluster])
})

const member = Effect.flatMap(startWorld(), ({ world }) => sitDown(memberOf(world, "a"), [memberOf(world, "a")]))

const primary = Effect.fnUntraced(function* (managementOnly: boolean) {
  const { world } = yield* startWorld({ managementOnly })
  if (!managementOnly) deploy(world.primary, "myapp")
  return yield* sitDown(world.primary, [...world.members.values(), ...(managementOnly ? [] : [world.primary])])
})

const roles = [
  ["a single operator", single()],
  ["an operator without copies of targets", single({ makesCopies: false })],
  ["a member", member],
  ["a primary with workloads", primary(false)],
  ["a management-only primary", primary(true)]
] as const

/** The difference between the list and the truth, one line each. */
const flaws = (row: Used | Exempt, isAdvertised: boolean, refused: Refused): ReadonlyArray<string> => {
  if ("because" in row) return row.isAdvertised === isAdvertised ? [] : ["is not advertised as its reason says"]
  if (isAdvertised) return refused === undefined ? [] : [`is advertised, and refused: ${refused}`]
  const { elsewhere } = row
  if (elsewhere === undefined) return ["is not advertised"]
  if (!(elsewhere instanceof RegExp)) return []
  if (refused === undefined) return ["is served, and not advertised"]
  return elsewhere.test(refused) ? [] : [`is refused with another sentence: ${refused}`]
}

const isFeature = (name: string): name is Feature => Object.hasOwn(features, name)

describe("features", () => {
  it.effect.each(roles)("are advertised exactly when they work, by %s", function* ([, begin]) {
    const seat = yield* begin
    const { spec } = (yield* (yield* operatorOf(seat)).describe) as MirrordOperator
    const advertised = spec.supported_features ?? []
    assert.deepStrictEqual(
      advertised.filter((name) => !isFeature(name)),
      [],
      "a client knows each of them"
    )
    assert.strictEqual(new Set(advertised).size, advertised.length, "each of them once")
    const found: Array<string> = []
    for (const [name, row] of Object.entries(features)) {
      const refused = "use" in row ? yield* Effect.scoped(row.use(seat)) : undefined
      found.push(...flaws(row, advertised.includes(name), refused).map((flaw) => `${name} ${flaw}`))
    }
    assert.deepStrictEqual(found, [])
  })
})

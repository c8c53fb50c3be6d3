import { readdirSync, readFileSync } from "node:fs"
import { Context, Effect, Fiber, Layer, Logger, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import { parseStory } from "../../lab/simulation/story/parse-story.ts"
import { runStory } from "../../lab/simulation/story/run-story.ts"
import type { FaultPlan } from "../../lab/simulation/world/call-faults.ts"
import { operatorNamespace } from "../../lab/simulation/world/operator-replica.ts"
import type { PortCall } from "../../lab/simulation/world/world-event.ts"
import type { DialAgent } from "../../src/adapters/agents/agent-starter.ts"
import { podAgents } from "../../src/adapters/agents/pod-agents.ts"
import { mayDo } from "../../src/app/api/access-review.ts"
import { makeBranches } from "../../src/app/branches/branch-controller.ts"
import type { BranchDirectory } from "../../src/app/branches/branch-directory.ts"
import { ensureAgentIdentity } from "../../src/app/certificates/agent-identity.ts"
import { watchFrontProxy } from "../../src/app/certificates/front-proxy.ts"
import { ownCertificateSecret, ownServingCertificate } from "../../src/app/certificates/own-certificate.ts"
import { ensureUserAuthority } from "../../src/app/certificates/user-authority.ts"
import { cleanup } from "../../src/app/commands/cleanup/cleanup.ts"
import { copyLayer, CopySettings } from "../../src/app/copies/copy-target-capability.ts"
import { askClusters, orderCopy } from "../../src/app/copies/ordered-copies.ts"
import { scalableKinds } from "../../src/app/copies/scaled-down-workloads.ts"
import { grantToken, keepToken } from "../../src/app/fleet/member-token.ts"
import { makeEventRecorder } from "../../src/app/kernel/event-recorder.ts"
import { retryingApi } from "../../src/app/kernel/retrying-api.ts"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { keepUsers } from "../../src/app/operator/user-memory.ts"
import { UserSightings } from "../../src/app/operator/user-sightings.ts"
import { noSplits, QueueSplits } from "../../src/app/queues/queue-splits.ts"
import { CopyTargets, CopyUses } from "../../src/app/services/copy-targets.ts"
import { FleetView, noFleet } from "../../src/app/services/fleet-view.ts"
import { SessionLimits } from "../../src/app/services/session-limits.ts"
import type { Targets } from "../../src/app/services/targets.ts"
import { namespaceGoes } from "../../src/app/sessions/member/end-with-namespace.ts"
import { resolveTarget } from "../../src/app/sessions/member/target-resolver.ts"
import { targetsHere } from "../../src/app/sessions/member/targets-here.ts"
import { targetsOfDefault } from "../../src/app/sessions/primary/targets-of-default.ts"
import { branchKinds } from "../../src/domain/branches/branch-kinds.ts"
import { readEngineSettings } from "../../src/domain/branches/branch-settings.ts"
import { copyLabel } from "../../src/domain/copies/copy-record.ts"
import { scaledDownFrom } from "../../src/domain/copies/scaled-down.ts"
import { clusterName, refreshedSecretName } from "../../src/domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../src/domain/fleet/configuration.ts"
import { memberToken } from "../../src/domain/fleet/credentials/member-credentials.ts"
import { branchDatabases } from "../../src/domain/resources/branches/branch-database.ts"
import { pgBranchDatabases } from "../../src/domain/resources/branches/legacy-branch-databases.ts"
import { branchEngines } from "../../src/domain/resources/chart-switches.ts"
import {
  apiServices,
  configMaps,
  deployments,
  jobs,
  namespaces,
  nodes,
  pods,
  secrets,
  subjectAccessReviews
} from "../../src/domain/resources/core-kinds.ts"
import {
  mirrordClusterSessions,
  type MirrordClusterSession
} from "../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { isBeingDeleted } from "../../src/domain/resources/object-meta.ts"
import { operatorApiService } from "../../src/domain/resources/operator-api.ts"
import { sessions } from "../../src/domain/resources/session.ts"
import { parentFinalizer } from "../../src/domain/sessions/names.ts"
import { defaultBounds } from "../../src/domain/sessions/session-bounds.ts"
import type { AgentPlacement } from "../../src/domain/targets/pod-choice.ts"
import { kindAddress, targetKinds } from "../../src/domain/targets/target.ts"
import { AgentUnreachable } from "../../src/ports/agents.ts"
import type { KubeApi } from "../../src/ports/kube-api.ts"
import { placement, settings } from "../adapters/agents/agent-examples.ts"
import { syncAlone } from "../app/branches/sync/sync-alone.ts"
import { configurationOf } from "../support/fleet.ts"
import { MemoryKubeApi } from "../support/memory-kube-api.ts"
import { memoryWorld, openConnection } from "../support/memory-world.ts"
import { recordingKubeApi } from "../support/recording-kube-api.ts"
import { reviewedApi } from "../support/reviewed-api.ts"
import { servicesOf } from "../support/services.ts"
import { certificateOf } from "../support/user-certificate.ts"
import { virtualTime } from "../support/virtual-time.ts"
import { type ApiCall, rowOf } from "./api-call.ts"
import { ofQueues, ofSharedQueues, ofQueueSync, ofSplitCleanup } from "./queue-calls.ts"

/**
 * The callers of an API server: the operator of a cluster with workloads (a single cluster's and a member's are the
 * same), the same where it makes copies of targets; of a primary with and without workloads, and of one whose replicas
 * share its members, each in its own cluster; the primary in its members' clusters; an operator whose agents speak TLS,
 * and one that asks nodes for room, as far as that is more; an operator whose agents are ephemeral containers; an
 * operator that makes branches of databases, as far as that is more; a primary that has them made in its default
 * cluster, as far as that is more, in its own cluster and in that one; an operator that splits queues, the same where
 * its replicas share them, and a primary that copies their configurations to its members, likewise; a primary that
 * takes tunnels and a member that dials one, as far as that is more; the hooks of the chart.
 */
export const callers = [
  "operator-with-workloads",
  "operator-with-copies",
  "primary-with-workloads",
  "primary-management-only",
  "primary-with-sharding",
  "primary-at-a-member",
  "operator-with-agent-tls",
  "operator-with-ephemeral-agents",
  "operator-that-asks-nodes",
  "operator-with-branches",
  "primary-with-branches",
  "primary-with-branches-at-the-default",
  "operator-with-queues",
  "operator-with-shared-queues",
  "primary-with-queues",
  "primary-with-queues-at-a-member",
  "primary-with-tunnels",
  "operator-that-dials-out",
  "hooks-with-copies",
  "hooks-with-branches",
  "hooks-with-queues"
] as const
export type ApiUser = (typeof callers)[number]

/** Kinds of targets that copies are made of, each with objects of its own. */
const copiedKinds = ["deployment", "statefulset", "rollout", "job", "cronjob"] as const
const otherKeys: Readonly<Record<string, string>> = { statefulset: "stateful_set", cronjob: "cron_job" }
const copiedKey = (kind: (typeof copiedKinds)[number]): string => otherKeys[kind] ?? kind

/** Only what was left of copies is looked for in the whole cluster. */
const isAboutCopies = ({ namespace, resource, verb }: ApiCall): boolean =>
  verb === "list" && namespace === undefined && ["pods", "deployments", "statefulsets", "rollouts"].includes(resource)

/** Authority, keys and certificates of tunnels are in Secrets, which other operators make and follow alone. */
const isAboutTunnels = ({ name, resource, verb }: ApiCall): boolean =>
  resource === "secrets" && (verb === "get" || verb === "patch") && name !== "mirrord-operator-user-authority"

/** A member that is known by a token. */
const memberA: MemberConfiguration = {
  name: clusterName("a"),
  server: "https://a.example.com",
  namespace: undefined,
  certificateAuthority: undefined,
  auth: { _tag: "BearerToken" },
  problems: []
}

const scenarios = new URL("../../lab/simulation/scenarios/", import.meta.url)

const inSimulation = ({ group, name, namespace, resource, subresource, verb }: PortCall): ApiCall | undefined => {
  switch (verb) {
    case "dial":
      return undefined
    case "link":
      return { verb: "proxy", group: "operator.metalbear.co", resource: "targets", namespace, name }
    default:
      return {
        verb,
        group,
        resource: subresource === undefined ? resource : `${resource}/${subresource}`,
        namespace,
        name
      }
  }
}

/** Calls of something against an empty API server, or one with these objects. */
const callsOf = (
  use: (api: KubeApi) => Effect.Effect<unknown, unknown>,
  api: KubeApi = new MemoryKubeApi("recorded")
): Promise<ReadonlyArray<ApiCall>> => {
  const calls: Array<ApiCall> = []
  return Effect.runPromise(
    Effect.gen(function* () {
      const running = yield* Effect.forkChild(Effect.exit(use(recordingKubeApi(api, calls))), {
        startImmediately: true
      })
      // Nothing here waits for as long as an hour.
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(running)
      return calls
    }).pipe(Effect.provide(Layer.merge(virtualTime, Logger.layer([]))))
  )
}

const ofTargets = Promise.all(
  targetKinds.map((kind) => {
    const { group, kind: name, version } = kindAddress(kind)
    const target = { apiVersion: group === "" ? version : `${group}/${version}`, kind: name, name: "x", container: "" }
    const session: MirrordClusterSession = {
      metadata: { name: "s" },
      spec: { namespace: "default", owner: { userId: "", username: "", hostname: "", k8sUsername: "" }, target }
    }
    return callsOf((api) => resolveTarget(api, session))
  })
)

/** All targets are listed, and each kind of target is read; a primary asks its default cluster for both. */
const ofAskedTargets = (of: (api: KubeApi) => Targets["Service"]): Promise<ReadonlyArray<ApiCall>> =>
  callsOf((api) => {
    const { get, list } = of(api)
    const asked = targetKinds.map((kind) => get("default", `${kind}.x`))
    return Effect.forEach([list("default"), list(undefined), ...asked], Effect.exit)
  })

/** The memory of users is read and written. */
const ofUsers = (): Promise<ReadonlyArray<ApiCall>> =>
  callsOf((api) => {
    const users = new UserSightings()
    users.saw("ann", 0)
    const keeping = keepUsers({ api, namespace: operatorNamespace, users })
    return Effect.timeoutOption(keeping, "5 minutes")
  })

const ofCleanup = (more: { readonly copies?: true; readonly branches?: true }): Promise<ReadonlyArray<ApiCall>> => {
  const api = new MemoryKubeApi("recorded")
  api.write(pods, "x", { metadata: { labels: { [copyLabel]: "true" } } }, "default")
  for (const kind of Object.values(scalableKinds)) {
    const metadata = { labels: { [scaledDownFrom]: "1" } }
    api.write(kind, "x", { metadata, spec: { replicas: 0 } }, "default")
  }
  api.write(mirrordMultiClusterSessions, "mc-1", { metadata: { finalizers: [parentFinalizer] } })
  api.write(mirrordClusterSessions, "1", {})
  for (const { resource } of branchKinds(branchEngines)) api.write(resource, "x", {}, "default")
  return callsOf((recorded) => cleanup(recorded, { waitSecs: 2, ...more }), api)
}

/** A user's own session in one cluster, which no scenario has, until its cluster or a primary stops it. */
const ofUserSession = (stoppedBy: "own cluster" | "primary"): Promise<ReadonlyArray<ApiCall>> =>
  Effect.runPromise(
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 0, 1))
      const world = yield* memoryWorld()
      const cluster = world.members.get("a")
      if (cluster === undefined) return []
      const certificate = yield* certificateOf(cluster)
      const request = {
        caller: { user: "ann", groups: [], extra: {} },
        checked: "proxy",
        namespace: "default",
        target: "deployment.myapp",
        sessionId: "255",
        query: "connect=true"
      } as const
      yield* Effect.forkChild(
        openConnection(cluster, {
          ...request,
          certificate,
          clientVersion: undefined,
          clientName: undefined,
          clientHostname: undefined
        }),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1 minute")
      const { operator } = stoppedBy === "primary" ? world.primary : cluster
      yield* operator?.deleteSession("255", request.caller) ?? Effect.void
      if (stoppedBy === "primary") {
        const { group, plural: resource } = sessions
        return cluster.api.peekAll(mirrordClusterSessions).every(({ metadata }) => isBeingDeleted(metadata))
          ? [{ verb: "delete", group, resource }]
          : []
      }
      const { group, plural } = mirrordClusterSessions
      return cluster.api.calls.flatMap(({ name, plural: of, subresource, verb }): ReadonlyArray<ApiCall> => {
        if (of === configMaps.plural) return [{ verb, group: "", resource: of, namespace: operatorNamespace, name }]
        const resource = subresource === undefined ? of : `${of}/${subresource}`
        return of === plural ? [{ verb, group, resource, name }] : []
      })
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(virtualTime, Logger.layer([]))))
  )

/** A copy of a target and its end: of each kind, and for workloads that are scaled down. */
const ofCopies = (): Promise<ReadonlyArray<ApiCall>> => {
  const calls: Array<ApiCall> = []
  const api = new MemoryKubeApi("recorded")
  const recorded = recordingKubeApi(api, calls)
  return Effect.runPromise(
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 0, 1))
      const template = { spec: { containers: [{ name: "x" }] } }
      for (const kind of copiedKinds)
        api.write(
          { ...kindAddress(kind), scope: "Namespaced" },
          "x",
          { spec: { template, jobTemplate: { spec: { template } } } },
          "default"
        )
      const reviewed: KubeApi = {
        ...recorded,
        create: (ref, object, namespace) =>
          ref.plural === subjectAccessReviews.plural
            ? Effect.succeed({ metadata: { name: "" }, status: { allowed: true } })
            : recorded.create(ref, object, namespace)
      }
      const services = (yield* servicesOf({ api: reviewed })).pipe(
        Context.add(CopySettings, { makesCopies: true, image: undefined }),
        Context.add(CopyUses, { cached: () => new Set<string>(), stored: Effect.succeed(new Set<string>()) }),
        Context.add(FleetView, noFleet),
        Context.add(QueueSplits, noSplits),
        Context.add(SessionLimits, { ask: () => Effect.die("no session"), permitCopy: () => Effect.void })
      )
      const copies = Context.get(yield* Effect.provideContext(Layer.build(copyLayer), services), CopyTargets)
      const owner = { userId: "u", username: "", hostname: "", k8sUsername: "ann" }
      for (const kind of copiedKinds) {
        const target = { [copiedKey(kind)]: "x", container: null }
        const asked = {
          caller: { user: "ann", groups: [], extra: {} },
          certificate: undefined,
          clientName: undefined,
          clientHostname: undefined,
          namespace: "default",
          body: { spec: { target, scale_down: kind !== "job" && kind !== "cronjob" } }
        }
        yield* Effect.forkChild(copies.create(asked, owner), { startImmediately: true })
        yield* TestClock.adjust("1 minute")
      }
      yield* TestClock.adjust("5 minutes")
      return calls
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(virtualTime, Logger.layer([]))))
  )
}

/** A branch of a database and its end, under two leaders, and while somebody else writes it. */
const ofBranches = (): Promise<Array<ApiCall>> => {
  const calls: Array<ApiCall> = []
  const api = new MemoryKubeApi("recorded")
  const recorded = recordingKubeApi(api, calls)
  const [namespace, name] = ["shop", "branch"]
  const env = [{ name: "DATABASE_URL", value: "postgresql://source/shop" }]
  api.write(deployments, "app", { spec: { template: { spec: { containers: [{ name: "app", env }] } } } }, namespace)
  const common = {
    id: "1",
    ttlSecs: 300,
    connectionSource: { url: { env: { container: null, variable: "DATABASE_URL" } } }
  }
  const target = { apiVersion: "apps/v1", kind: "Deployment", name: "app", container: "" }
  api.write(
    branchDatabases,
    name,
    { spec: { ...common, target, databaseName: "shop", postgresOptions: {} } },
    namespace
  )
  const older = "older"
  api.write(pgBranchDatabases, older, { spec: { ...common, target: { deployment: "app" } } }, namespace)
  const rules = { settings: { pg: readEngineSettings("pg", { _tag: "Absent" }, {}) }, protectedNamespaces: new Map() }
  const leader = <A, E>(then: (directory: BranchDirectory) => Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      const events = yield* makeEventRecorder(recorded)
      const directory = yield* makeBranches({
        api: recorded,
        awaited: retryingApi(recorded),
        rules,
        events,
        bounds: defaultBounds
      })
      yield* TestClock.adjust("10 seconds")
      yield* then(directory)
    }).pipe(Effect.scoped)
  return Effect.runPromise(
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 0, 1))
      yield* leader(() => Effect.void)
      for (const pod of api.peekAll(pods)) {
        const status = { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] }
        api.write(pods, pod.metadata.name, { status }, namespace)
      }
      yield* leader((directory) =>
        Effect.gen(function* () {
          const named = [
            [branchDatabases, name],
            [pgBranchDatabases, older]
          ] as const
          for (const [resource, one] of named) {
            const branch = directory.find(namespace, one, "pg")
            if (branch?.access === undefined) return yield* Effect.die("the branch is not ready")
            api.setMuted(true)
            api.write(resource, one, { metadata: { labels: { other: "writer" } } }, namespace)
            yield* directory.use(branch, {
              sessionId: "1",
              user: { userId: "", username: "", hostname: "", k8sUsername: "" }
            })
            api.setMuted(false)
            yield* directory.release(branch, "1")
          }
          for (const archive of ["aGk=", "bXk="]) {
            const migrations = { flavor: "flyway", archive }
            api.write(branchDatabases, name, { spec: { migrations } }, namespace)
            yield* TestClock.adjust("10 seconds")
            for (const job of api.peekAll(jobs)) {
              const status = { conditions: [{ type: "Complete", status: "True" }] }
              api.write(jobs, job.metadata.name, { status }, namespace)
            }
            // The second success is counted in the Event of the first one.
            yield* TestClock.adjust("10 seconds")
          }
          yield* TestClock.adjust("10 minutes")
        })
      )
      return calls
    }).pipe(Effect.provide(Layer.merge(virtualTime, Logger.layer([]))))
  )
}

/** A branch that a primary has made in its default cluster: patched, stopped, ordered again, expired. */
const ofBranchSync = (): Promise<Readonly<Record<"own" | "atDefault", Array<ApiCall>>>> => {
  const calls = { own: new Array<ApiCall>(), atDefault: new Array<ApiCall>() }
  const [own, atDefault] = [reviewedApi("primary"), new MemoryKubeApi("a")]
  const [api, reached] = [recordingKubeApi(own, calls.own), recordingKubeApi(atDefault, calls.atDefault)]
  const [namespace, name] = ["shop", "branch"]
  const kinds = [branchDatabases, pgBranchDatabases]
  const order = (ttlSecs: number): Effect.Effect<void> => {
    for (const kind of kinds) own.write(kind, name, { spec: { id: "1", ttlSecs } }, namespace)
    return TestClock.adjust("2 seconds")
  }
  return Effect.runPromise(
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 0, 1))
      own.write(namespaces, "kube-system", {})
      const settings = { pg: readEngineSettings("pg", { _tag: "Absent" }, {}) }
      let why: string | undefined
      const clusters = () => [{ name: clusterName("a"), isDefault: true, api: () => reached, lost: () => why }]
      const { branches } = yield* syncAlone({ api, fleet: configurationOf(["a"]) }, settings, clusters)
      const values = new Map([["A", Redacted.make("1")]])
      const caller = { user: "ann", groups: [], extra: {} }
      yield* Effect.ignore(branches.takeCredentials({ namespace, id: "1", values, user: undefined }, caller))
      yield* order(300)
      yield* order(600)
      for (const kind of kinds) own.erase(kind, name, namespace)
      yield* TestClock.adjust("2 seconds")
      yield* order(300)
      for (const kind of kinds) atDefault.write(kind, name, { status: { phase: "Ready", expireTime: "" } }, namespace)
      yield* TestClock.adjust("2 seconds")
      for (const kind of kinds) atDefault.erase(kind, name, namespace)
      yield* TestClock.adjust("10 seconds")
      for (const kind of kinds) own.erase(kind, name, namespace)
      yield* TestClock.adjust("2 seconds")
      // Another reason to wait is counted in the Event of the first one.
      for (const reason of ["it is away", "it does not answer"]) {
        why = reason
        yield* order(reason.length * 60)
      }
      yield* TestClock.adjust("10 seconds")
      return calls
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(virtualTime, Logger.layer([]))))
  )
}

/** A primary orders a copy from a cluster, and asks how far it is. */
const ofFleetCopies = (): Promise<ReadonlyArray<ApiCall>> => {
  const asked = { primary: "primary", namespace: "default", name: "x" }
  const order = { primary: "primary", session: "1", owner: { userId: "", username: "", hostname: "", k8sUsername: "" } }
  return callsOf((api) => {
    const cluster = { name: clusterName("a"), isDefault: true, api: () => api, lost: () => undefined }
    return Effect.andThen(
      Effect.forEach([asked, { ...asked, namespace: undefined }], (copies) => askClusters([cluster], copies)),
      () => orderCopy(cluster, order, "default", { sent: {} })
    )
  })
}

/** A member grants the next token, which works. */
const ofGrantedToken = (): Promise<ReadonlyArray<ApiCall>> => {
  const api = new MemoryKubeApi("recorded")
  const granted = { metadata: { name: "" }, status: { token: "a.b.c" } }
  return callsOf(
    (recorded) => {
      const access = { api: recorded, link: () => Effect.die("none"), reauthenticate: () => {} }
      const connector = { own: access, member: () => Effect.succeed(access) }
      const account = { namespace: operatorNamespace, name: "mirrord-operator-envoy" }
      return grantToken({ access, connector, member: memberA }, { _tag: "At", at: 0, account, expirationSeconds: 600 })
    },
    { ...api, cluster: api.cluster, get: api.get.bind(api), create: () => Effect.succeed(granted) }
  )
}

/** A token is kept, once for the first time. */
const ofKeptToken = (): Promise<ReadonlyArray<ApiCall>> =>
  callsOf((own) => {
    const token = memberToken(Redacted.make("a.b.c"))
    const name = refreshedSecretName(memberA.name, sha256Hex)
    const secret = { own, namespace: operatorNamespace, name }
    return Effect.andThen(keepToken({ ...secret, known: undefined }, token), () =>
      keepToken({ ...secret, known: { metadata: { name } } }, token)
    )
  })

/**
 * The operator's own certificate is made, and made again when the Secret cannot be used any more. In the machine's
 * time, which making keys takes.
 */
const ofCertificate = (): Promise<ReadonlyArray<ApiCall>> => {
  const calls: Array<ApiCall> = []
  const api = new MemoryKubeApi("recorded")
  const spec = { service: { name: "mirrord-operator", namespace: operatorNamespace } }
  api.write(apiServices, operatorApiService, { spec })
  const recorded = recordingKubeApi(api, calls)
  return Effect.runPromise(
    Effect.gen(function* () {
      yield* ownServingCertificate(recorded, operatorNamespace)
      api.write(secrets, ownCertificateSecret, { data: { "tls.key": "" } }, operatorNamespace)
      yield* ownServingCertificate(recorded, operatorNamespace)
      return calls
    }).pipe(Effect.provide(Logger.layer([])))
  )
}

/** The key towards agents is made and read. In the machine's time, which making keys takes. */
const ofAgentKey = (): Promise<Array<ApiCall>> => {
  const calls: Array<ApiCall> = []
  const recorded = recordingKubeApi(new MemoryKubeApi("recorded"), calls)
  return Effect.runPromise(Effect.as(ensureAgentIdentity(recorded, operatorNamespace), calls))
}

/** A cluster with the target's pod, for agents beside it. */
const withTarget = (): { readonly api: MemoryKubeApi; readonly target: AgentPlacement } => {
  const api = new MemoryKubeApi("recorded")
  const { metadata } = api.write(
    pods,
    placement.podName,
    { spec: { containers: [{ name: placement.containerName }] } },
    placement.podNamespace
  )
  return { api, target: { ...placement, podUid: metadata.uid } }
}
const session = { apiVersion: "mirrord.metalbear.co/v1alpha", kind: "MirrordClusterSession", name: "s", uid: "1" }
const nobodyThere: DialAgent = (host) => Effect.fail(new AgentUnreachable({ agent: host, detail: "nobody" }))

/** An ephemeral agent is added, after the Job of a time when agents were Jobs. */
const ofEphemeralAgent = (): Promise<ReadonlyArray<ApiCall>> => {
  const { api, target } = withTarget()
  return callsOf(
    (recorded) =>
      Effect.gen(function* () {
        const earlier = yield* Effect.forkChild(podAgents(api, settings, nobodyThere).ensure(target, session), {
          startImmediately: true
        })
        yield* Effect.sleep("1 second")
        yield* Fiber.interrupt(earlier)
        yield* podAgents(recorded, { ...settings, ephemeral: true }, nobodyThere).ensure(target, session)
      }),
    api
  )
}

/** An agent is made after its node was asked. The Job itself is in the scenarios. */
const ofNodeRoom = async (): Promise<Array<ApiCall>> => {
  const { api, target } = withTarget()
  api.write(nodes, target.nodeName, { status: { allocatable: { pods: "0" } } })
  const asking = { ...settings, checkOutOfPods: true }
  const calls = await callsOf((recorded) => podAgents(recorded, asking, nobodyThere).ensure(target, session), api)
  return calls.filter(({ resource }) => resource !== "jobs")
}

/** The Job of an agent gets no pod, and the Events about it are read. In the scenarios nodes take every pod. */
const ofAgentWithoutPod = async (): Promise<Array<ApiCall>> => {
  const { api, target } = withTarget()
  const calls = await callsOf(
    (recorded) => podAgents(recorded, { ...settings, startupTimeoutSecs: 4 }, nobodyThere).ensure(target, session),
    api
  )
  return calls.filter(({ resource }) => resource === "events")
}

/** A part of a session over many clusters is to end with its namespace. No scenario deletes one. */
const ofEndingNamespace = (): Promise<ReadonlyArray<ApiCall>> =>
  callsOf((recorded) => namespaceGoes(recorded, "shop"), new MemoryKubeApi("recorded"))

/** In the simulation agents are Jobs; in another shape no Job is made. */
const makesJob = ({ group, resource, verb }: ApiCall): boolean =>
  (group === "batch" && ["create", "patch"].includes(verb)) ||
  // Of a Job that has no pod.
  (resource === "events" && verb === "list")

/**
 * The calls of each of them: in all scenarios of the simulation, and where the simulation has only a part of the
 * program, in that part alone.
 */
export const operatorCalls = async (): Promise<Readonly<Record<ApiUser, ReadonlyArray<ApiCall>>>> => {
  const branchSync = await ofBranchSync()
  const queueSync = await ofQueueSync()
  const found: Record<ApiUser, Array<ApiCall>> = {
    "operator-with-workloads": [...(await ofAgentWithoutPod()), ...(await ofEndingNamespace())],
    "operator-with-copies": [],
    "primary-with-workloads": [],
    "primary-management-only": [],
    "primary-with-sharding": [],
    "primary-at-a-member": [],
    "operator-with-agent-tls": await ofAgentKey(),
    "operator-with-ephemeral-agents": [],
    "operator-that-asks-nodes": await ofNodeRoom(),
    "operator-with-branches": await ofBranches(),
    "primary-with-branches": branchSync.own,
    "primary-with-branches-at-the-default": branchSync.atDefault,
    "operator-with-queues": await ofQueues(),
    "operator-with-shared-queues": await ofSharedQueues(),
    "primary-with-queues": queueSync.own,
    "primary-with-queues-at-a-member": queueSync.atMember,
    "primary-with-tunnels": [],
    "operator-that-dials-out": [],
    "hooks-with-copies": [],
    "hooks-with-branches": [],
    "hooks-with-queues": await ofSplitCleanup()
  }
  /** Calls of operators that make copies, and do everything else as well. */
  const besideCopies: Array<ApiCall> = []
  const record = (name: string, faults?: FaultPlan): void => {
    const story = {
      seed: name,
      lines: readFileSync(new URL(`${name}.txt`, scenarios), "utf8")
        .trimEnd()
        .split("\n")
    }
    const plan = Result.getOrThrow(parseStory(story.seed, story.lines)).plan
    // The calls about branches are those of operators with the value of an engine, which have parts of their own.
    if (plan.branches) return
    const ofPrimary = plan.clusters.some(({ name }) => name === plan.primary)
      ? "primary-with-workloads"
      : "primary-management-only"
    const own = plan.sharding ? "primary-with-sharding" : ofPrimary
    const finds = story.lines.some((line) => line.startsWith("found "))
    const hasTunnels = story.lines.some((line) => line.startsWith("outbound "))
    const hasCopies = story.lines.some((line) => line.startsWith("copy "))
    for (const event of runStory(story, { events: true, ...(faults === undefined ? {} : { faults }) }).events) {
      if (event._tag !== "Called") continue
      const call = inSimulation(event.call)
      const { operator, to } = event.call
      if (call === undefined) continue
      if (plan.ephemeralAgents.includes(operator)) {
        if (to === operator && !isAboutCopies(call)) found["operator-with-ephemeral-agents"].push(call)
        continue
      }
      const isOwn = to === operator
      // The rights of a provider are given where a value of the chart chooses it.
      if (finds && isOwn && operator === plan.primary) continue
      if (hasTunnels && isOwn && isAboutTunnels(call)) {
        found[operator === plan.primary ? "primary-with-tunnels" : "operator-that-dials-out"].push(call)
        continue
      }
      if (isOwn && isAboutCopies(call)) found["operator-with-copies"].push(call)
      else if (hasCopies && operator !== plan.primary) besideCopies.push(call)
      else if (operator !== plan.primary) found["operator-with-workloads"].push(call)
      else found[isOwn ? own : "primary-at-a-member"].push(call)
    }
  }
  for (const file of readdirSync(scenarios))
    if (file.endsWith(".txt") && !file.endsWith(".golden.txt")) record(file.replace(".txt", ""))
  // Somebody else has just changed what an operator changes: once for each of its objects' kinds.
  for (const name of ["rfc-example", "primary-is-default"]) {
    const conflicts = new Set<string>()
    record(name, ({ operator, resource, subresource, to, verb }) => {
      const kind = [operator, to, resource, subresource].join(" ")
      if (verb !== "patch" || conflicts.has(kind)) return undefined
      conflicts.add(kind)
      return { _tag: "Fail", when: "before", reason: "Conflict", code: 409 }
    })
  }
  const starting = await callsOf((api) => Effect.scoped(Effect.andThen(watchFrontProxy(api), Effect.sleep("1 minute"))))
  // In the simulation the authority is there already.
  const authority = await callsOf((api) => ensureUserAuthority(api, operatorNamespace))
  const certificate = await ofCertificate()
  const users = await ofUsers()
  // The operator asks about connects without the prefix `proxy/`; the scenarios' clients come with it.
  const review = await callsOf(
    (api) =>
      mayDo(
        api,
        { user: "ann", groups: [], extra: {} },
        { group: "operator.metalbear.co", resource: "targets", verb: "proxy" }
      ),
    {
      ...new MemoryKubeApi("recorded"),
      create: () => Effect.succeed({ metadata: { name: "" }, status: { allowed: true } })
    }
  )
  for (const user of ["operator-with-workloads", "primary-with-workloads", "primary-management-only"] as const)
    found[user].push(...starting, ...authority, ...certificate, ...review, ...users)
  for (const user of ["operator-with-workloads", "primary-with-workloads"] as const)
    found[user].push(...(await ofTargets).flat())
  const listed = await ofAskedTargets((api) => targetsHere({ api, protectedNamespaces: new Map() }))
  for (const user of ["operator-with-workloads", "primary-with-workloads"] as const) found[user].push(...listed)
  const fromDefault = (api: KubeApi): Targets["Service"] =>
    targetsOfDefault(() => ({ name: clusterName("a"), isDefault: true, api: () => api, lost: () => undefined }))
  found["primary-at-a-member"].push(...(await ofAskedTargets(fromDefault)))
  found["operator-with-workloads"].push(...(await ofUserSession("own cluster")))
  found["primary-at-a-member"].push(...(await ofUserSession("primary")), ...(await ofGrantedToken()))
  for (const user of ["primary-with-workloads", "primary-management-only"] as const)
    found[user].push(...(await ofKeptToken()))
  found["operator-with-ephemeral-agents"].push(
    ...found["operator-with-workloads"].filter((call) => !makesJob(call)),
    ...(await ofEphemeralAgent())
  )
  const others = new Set(found["operator-with-workloads"].map(rowOf))
  found["operator-with-copies"].push(...besideCopies.filter((call) => !others.has(rowOf(call))), ...(await ofCopies()))
  for (const user of ["primary-at-a-member", "primary-with-workloads"] as const)
    found[user].push(...(await ofFleetCopies()))
  found["hooks-with-copies"].push(...(await ofCleanup({ copies: true })))
  found["hooks-with-branches"].push(...(await ofCleanup({ copies: true, branches: true })))
  return found
}

import { Context, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { FleetCluster } from "../../../src/app/fleet/fleet-cluster.ts"
import { type FleetOptions, makeFleet } from "../../../src/app/fleet/fleet.ts"
import { makeEventRecorder } from "../../../src/app/kernel/event-recorder.ts"
import { makeLedgerCache } from "../../../src/app/kernel/ledger.ts"
import { SessionNotifier } from "../../../src/app/kernel/session-notifier.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { makeStoppedLedger, storedLedger } from "../../../src/app/kernel/stopped-ledger.ts"
import { makeClusterSessionController } from "../../../src/app/sessions/member/cluster-session-controller.ts"
import { makeAdmitPrimary } from "../../../src/app/sessions/member/primary-lease.ts"
import { makeDebtLedger } from "../../../src/app/sessions/primary/debt-ledger.ts"
import { makeSessionManager } from "../../../src/app/sessions/primary/multi-cluster-session-manager.ts"
import { SessionEnds } from "../../../src/app/sessions/session-ends.ts"
import { makeSocketRegistry } from "../../../src/app/sessions/socket-registry.ts"
import type { FleetConfiguration } from "../../../src/domain/fleet/configuration.ts"
import type { ConnectedOperator } from "../../../src/domain/fleet/health.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { deployments, pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { OwnerReference } from "../../../src/domain/resources/object-meta.ts"
import { parentsTold } from "../../../src/domain/sessions/child-owner.ts"
import { parentFinalizer } from "../../../src/domain/sessions/names.ts"
import type { AgentPlacement } from "../../../src/domain/targets/pod-choice.ts"
import { AgentFailed, Agents, AgentUnreachable } from "../../../src/ports/agents.ts"
import { ClusterConnector } from "../../../src/ports/cluster-connector.ts"
import type { FrameHandlers } from "../../../src/ports/frame-channel.ts"
import type { KubeApi, ResourceRef } from "../../../src/ports/kube-api.ts"
import { LinkRefused } from "../../../src/ports/member-link.ts"
import { configurationOf, giveCredentials, operatorNamespace, defaultLimits } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

export const operators: ResourceRef = {
  group: "operator.metalbear.co",
  version: "v1",
  plural: "mirrordoperators",
  scope: "Cluster"
}
export const parentOf = "mc-4dbe55ab68bba16c"
export const day0 = Date.UTC(2026, 0, 1)

const pong = daemonMessage.encode({ _tag: "Pong" })

/** Agents that are plain values and answer each message with a Pong; every one that is held can be made to end. */
export class FakeAgents {
  /** The answer to a ping. */
  readonly pong = pong
  readonly ensured: Array<{ readonly pod: string | undefined; readonly owner: OwnerReference }> = []
  /** Which agent each held connection belongs to. */
  readonly held = new Map<FrameHandlers | undefined, string>()
  open = 0
  /** Pods whose agents hang: they leave pings unanswered. */
  readonly hanging = new Set<string>()
  /** Agents that were given up. */
  readonly givenUp: Array<string> = []
  /** Agents, by uid, that answer a ping with a Close of this reason, and with the end of the connection. */
  readonly closing = new Map<string, string>()
  /** How many connections are refused, because no agent has opened its port yet. */
  refusals = 0
  /** Fails `ensure` with this sentence. */
  problem: string | undefined
  beforeEnsure: (placement: AgentPlacement | undefined) => Effect.Effect<void> = () => Effect.void
  readonly service: Agents["Service"] = {
    ensure: (placement, owner) =>
      Effect.suspend(() => {
        this.ensured.push({ pod: placement?.podName, owner })
        if (this.problem !== undefined) return Effect.fail(new AgentFailed({ agent: "agent", detail: this.problem }))
        const name = `agent-of-${placement?.podName ?? owner.uid}`
        const nth = this.givenUp.filter((other) => other === name).length
        return Effect.as(this.beforeEnsure(placement), { name, uid: `${name} ${nth}`, host: "127.0.0.1", port: 1 })
      }),
    giveUp: ({ name }) =>
      Effect.sync(() => {
        this.givenUp.push(name)
      }),
    connect: ({ name, uid }) =>
      Effect.gen({ self: this }, function* () {
        if (this.refusals-- > 0)
          return yield* new AgentUnreachable({ agent: name, detail: "it refuses", isRefused: true })
        this.open++
        let handlers: FrameHandlers | undefined
        let over = false
        return {
          send: () => {
            const reason = this.closing.get(uid)
            if (reason !== undefined) {
              handlers?.message(daemonMessage.encode({ _tag: "Close", value: reason }))
              if (!over) handlers?.ended("the agent closed the connection")
            } else if (!this.hanging.has(name.replace("agent-of-", ""))) handlers?.message(pong)
          },
          queuedBytes: () => 0,
          pause: () => {},
          resume: () => {},
          close: () => {
            if (over) return
            over = true
            this.open--
            this.held.delete(handlers)
          },
          open: (given) => {
            handlers = {
              ...given,
              ended: (reason) => {
                over = true
                this.open--
                this.held.delete(handlers)
                given.ended(reason)
              }
            }
            this.held.set(handlers, name)
          }
        }
      })
  }
  /** Agents that hang go on, and answer all that they were sent. */
  wakeAll(): void {
    this.hanging.clear()
    for (const handlers of [...this.held.keys()]) handlers?.message(pong)
  }
  endAll(): void {
    for (const handlers of [...this.held.keys()]) handlers?.ended("the agent ended")
  }
  end(pod: string): void {
    for (const [handlers, agent] of [...this.held]) if (agent === `agent-of-${pod}`) handlers?.ended("the agent ended")
  }
}

/** A cluster with one workload, `deployment/myapp` of one pod, and an operator that answers. */
export const workloadCluster = (name: string): MemoryKubeApi => {
  const api = new MemoryKubeApi(name)
  api.write(operators, "operator", { spec: { operator_version: "1", supported_features: ["ConnectParamsInHeader"] } })
  addWorkload(api)
  return api
}

export const addWorkload = (api: MemoryKubeApi, app = "myapp"): void => {
  api.write(
    deployments,
    app,
    {
      spec: {
        replicas: 1,
        selector: { matchLabels: { app } },
        template: { metadata: { labels: { app } }, spec: { containers: [{ name: "app" }] } }
      }
    },
    "default"
  )
  addPod(api, `${app}-1`, app)
}

export const addPod = (api: MemoryKubeApi, name: string, app = "myapp"): void => {
  api.write(
    pods,
    name,
    {
      metadata: { labels: { app } },
      spec: { nodeName: "node", containers: [{ name: "app" }] },
      status: {
        phase: "Running",
        podIPs: [{ ip: "10.0.0.1" }],
        containerStatuses: [{ name: "app", ready: true, containerID: `containerd://${name}` }]
      }
    },
    "default"
  )
}

const connectorOf = (local: KubeApi, members: ReadonlyMap<string, KubeApi>): ClusterConnector["Service"] => {
  const access = (api: KubeApi) => ({
    api,
    link: () =>
      Effect.fail(new LinkRefused({ cluster: api.cluster, reason: "NotFound", detail: "there are no links here" }))
  })
  return {
    own: access(local),
    member: ({ name }) =>
      Effect.succeed({ ...access(members.get(name) ?? new MemoryKubeApi(name)), reauthenticate: () => {} })
  }
}

export const ownHealth: ConnectedOperator = {
  _tag: "Connected",
  operatorVersion: "1",
  fingerprint: undefined,
  parametersInHeader: true
}

/** A fleet of which a test hears only the `events` that it is about. */
export const fleetOptions = ({
  events,
  ...options
}: Pick<FleetOptions, "configuration"> &
  Partial<Omit<FleetOptions, "events">> & {
    readonly events?: Partial<FleetOptions["events"]>
  }): FleetOptions => {
  const ignore = (): void => {}
  const ignored = { joined: ignore, left: ignore, childChanged: ignore, reachChanged: ignore, happened: ignore }
  return { namespace: operatorNamespace, sha256Hex, ownHealth, ...options, events: { ...ignored, ...events } }
}

/** A primary and its members; processes can be started, stopped and started again over the same objects. */
export class SessionFleet {
  readonly primary = new MemoryKubeApi("primary")
  readonly members: Map<string, MemoryKubeApi>
  readonly agents = new Map<string, FakeAgents>()
  /** Where Events go, of all clusters: apart from the calls that are counted. */
  readonly told = new MemoryKubeApi("Events")
  readonly configuration: FleetConfiguration
  /** Stands for a process of the primary that sees the primary's API through `asPrimary`. */
  constructor(names: ReadonlyArray<string> = ["cluster-a", "cluster-b"], more: Partial<FleetConfiguration> = {}) {
    this.members = new Map(names.map((name) => [name, workloadCluster(name)]))
    for (const name of names) {
      this.agents.set(name, new FakeAgents())
      giveCredentials(this.primary, name)
    }
    this.configuration = configurationOf(names, more)
  }

  member(name: string): MemoryKubeApi {
    const found = this.members.get(name)
    if (found === undefined) throw new Error(`no cluster ${name}`)
    return found
  }

  agentsOf(name: string): FakeAgents {
    const found = this.agents.get(name)
    if (found === undefined) throw new Error(`no cluster ${name}`)
    return found
  }

  /** The primary's half of an operator, wired as the program does it. */
  startPrimary() {
    const { configuration, members, primary, told: recorded } = this
    return process(
      Effect.gen(function* () {
        const notifier = new SessionNotifier()
        /** Children whose changes the fleet reported. */
        const told: Array<string> = []
        const debts = makeDebtLedger(primary, operatorNamespace, yield* makeLedgerCache(primary, operatorNamespace))
        const run = Effect.runForkWith(yield* Effect.context<never>())
        let onChange: (session?: string) => void = () => {}
        const sockets = makeSocketRegistry((session) => onChange(session))
        const clusterChanged = (cluster: FleetCluster | undefined): void => {
          onChange()
          const access = cluster?.access()
          if (cluster !== undefined && access !== undefined && cluster.reach().reachable)
            run(Effect.ignore(debts.pay(cluster.name, access.api)))
        }
        const fleet = yield* makeFleet({
          configuration,
          namespace: operatorNamespace,
          sha256Hex,
          ownHealth,
          events: {
            joined: clusterChanged,
            left: () => onChange(),
            childChanged: (_cluster, child) => {
              told.push(child.metadata.name)
              for (const parent of parentsTold(child)) onChange(parent)
            },
            reachChanged: (cluster) => clusterChanged(fleet.clusters.get(cluster)),
            happened: () => {}
          }
        }).pipe(Effect.provideService(ClusterConnector, connectorOf(primary, members)))
        const manager = yield* makeSessionManager({
          ownApi: primary,
          fleet,
          defaultCluster: configuration.defaultCluster,
          settings: configuration,
          sockets,
          debts,
          stopped: makeStoppedLedger(primary, operatorNamespace, storedLedger(primary, operatorNamespace)),
          notifier,
          ends: new SessionEnds(),
          events: yield* makeEventRecorder(recorded),
          sha256Hex
        })
        onChange = (session) => {
          if (session === undefined) manager.enqueueAll()
          else manager.enqueue(session)
        }
        return { manager, fleet, sockets, debts, notifier, told }
      })
    )
  }

  startMember(name: string) {
    const api = this.member(name)
    const { told } = this
    return process(
      Effect.gen(function* () {
        let onSocket: (session: string) => void = () => {}
        const sockets = makeSocketRegistry((session) => onSocket(session))
        const events = yield* makeEventRecorder(told)
        const controller = yield* makeClusterSessionController({
          api,
          sockets,
          notifier: new SessionNotifier(),
          ends: new SessionEnds(),
          events,
          defaults: configurationOf([]),
          stopped: makeStoppedLedger(api, operatorNamespace, storedLedger(api, operatorNamespace)),
          ...defaultLimits,
          stealTls: () => Effect.succeed([]),
          requirements: () => [],
          requirePrimary: false,
          admitPrimary: makeAdmitPrimary({ api, namespace: operatorNamespace, mustTell: false })
        })
        onSocket = controller.enqueue
        return { controller, sockets }
      }).pipe(Effect.provideContext(Context.make(Agents, this.agentsOf(name).service)))
    )
  }

  startMembers() {
    return Effect.forEach([...this.members.keys()], (name) => this.startMember(name))
  }

  createParent(now: number, more: object = {}, name = parentOf): void {
    this.primary.write(
      mirrordMultiClusterSessions,
      name,
      {
        metadata: { finalizers: [parentFinalizer] },
        spec: {
          owner: { userId: "u", username: "dev", hostname: "laptop", k8sUsername: "dev@corp" },
          namespace: "default",
          target: { apiVersion: "apps/v1", kind: "Deployment", name: "myapp", container: "" },
          targetAlias: "deployment.myapp",
          clusters: [...this.members.keys()],
          primaryCluster: "primary",
          defaultCluster: this.configuration.defaultCluster,
          ...more
        }
      },
      undefined,
      now
    )
  }

  status(name = parentOf) {
    return this.primary.peek(mirrordMultiClusterSessions, name)?.["status"] as
      | {
          readonly phase?: string
          readonly closed?: string
          readonly connectedTimestamp?: string
          readonly clusterSessions?: Readonly<
            Record<string, { readonly sessionName: string; readonly ready: boolean; readonly error?: string }>
          >
        }
      | undefined
  }

  children(cluster: string): ReadonlyArray<string> {
    return this.member(cluster)
      .peekAll(mirrordClusterSessions)
      .map(({ metadata }) => metadata.name)
  }
}

/** Runs something in a scope of its own, as a process that can be killed. */
const process = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R | Scope.Scope>) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const value = yield* effect.pipe(Scope.provide(scope))
  return { ...value, stop: Scope.close(scope, Exit.void) }
})

/** The calls that changed objects in a cluster, after the first `from` calls. */
export const writesSince = (api: MemoryKubeApi, from = 0): ReadonlyArray<string> =>
  api.calls
    .slice(from)
    .filter(({ verb }) => verb === "create" || verb === "patch" || verb === "delete")
    .map(({ name, verb }) => `${verb} ${name}`)

/**
 * Lets time pass in small steps. A leap would put minutes between two steps of a fiber that waits for nothing but its
 * turn.
 */
export const pass = Effect.fnUntraced(function* (seconds: number) {
  const steps = Math.max(1, Math.round(seconds * 10))
  const [step, count] = steps > 2_000 ? [500, steps / 5] : [100, steps]
  for (let i = 0; i < count; i++) {
    for (let turn = 0; turn < 8; turn++) yield* Effect.yieldNow
    yield* TestClock.adjust(step)
  }
})

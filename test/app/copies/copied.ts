import { Effect, Exit, Fiber, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import { ApiError } from "../../../src/app/api/status.ts"
import { CurrentHoldings, Holdings } from "../../../src/app/kernel/holdings.ts"
import { copyLabel } from "../../../src/domain/copies/copy-record.ts"
import type { FleetConfiguration } from "../../../src/domain/fleet/configuration.ts"
import type { CopyTarget } from "../../../src/domain/resources/copy-target.ts"
import { deployments, pods } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { pass, request } from "../../support/connect-request.ts"
import { connectTo } from "../../support/memory-session.ts"
import {
  deploy,
  type MemoryCluster,
  memoryCluster,
  type MemoryWorldOptions,
  startSingleOperator
} from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"

/** The pods of the target while nobody replaces it. */
export const replicas = 3

export const defaultSpec = {
  target: { deployment: "myapp", container: null },
  idle_ttl: 30,
  scale_down: true,
  split_queues: null,
  exclude_containers: [],
  exclude_init_containers: []
}

const isCopy = ({ metadata }: KubeObject): boolean => metadata.labels?.[copyLabel] !== undefined

/** The status of a copy's pod whose node has ended its container. */
export const outOfMemory = {
  phase: "Failed",
  containerStatuses: [{ name: "myapp", state: { terminated: { reason: "OOMKilled", exitCode: 137 } } }]
}

/** A cluster with `deployment/myapp`, operators that come and go, and the kubelet. */
export class Copied {
  readonly cluster: MemoryCluster = memoryCluster("a")
  readonly holdings = new Holdings()
  #operator: Scope.Closeable | undefined

  constructor() {
    this.cluster.trusted.add("ann")
    deploy(this.cluster, "myapp")
    const template = { metadata: { labels: { app: "myapp" } } }
    this.cluster.api.write(deployments, "myapp", { spec: { template } }, "default")
    this.scale(replicas)
  }

  /** A new leader, after the one before was killed. */
  readonly start = (limits: MemoryWorldOptions["limits"] = {}, fleet?: FleetConfiguration) =>
    Effect.gen({ self: this }, function* () {
      const scope = yield* Scope.make()
      this.#operator = scope
      yield* startSingleOperator(this.cluster, limits, fleet).pipe(
        Scope.provide(scope),
        Effect.provideService(CurrentHoldings, this.holdings)
      )
      yield* pass("1 second")
    })

  readonly kill = () =>
    Effect.suspend(() => {
      const operator = this.#operator
      this.#operator = undefined
      this.cluster.operator = undefined
      return operator === undefined ? Effect.void : Scope.close(operator, Exit.void)
    })

  get facade(): OperatorFacade["Service"] {
    if (this.cluster.operator === undefined) throw new Error("there is no operator")
    return this.cluster.operator
  }

  scale(to: number): void {
    this.cluster.api.write(deployments, "myapp", { spec: { replicas: to } }, "default")
  }

  /** The target's number of pods and labels. */
  workload(): { readonly replicas: unknown; readonly labels: object } | undefined {
    const object = this.cluster.api.peek(deployments, "myapp", "default")
    if (object === undefined) return undefined
    const { replicas: number } = object["spec"] as { readonly replicas?: number }
    return { replicas: number, labels: object.metadata.labels ?? {} }
  }

  copies(): ReadonlyArray<KubeObject> {
    return this.cluster.api.peekAll(pods).filter(isCopy)
  }

  /** The kubelet: every copy's container runs. */
  runCopies(): void {
    for (const { metadata } of this.copies())
      this.cluster.api.write(
        pods,
        metadata.name,
        {
          spec: { nodeName: "node" },
          status: {
            phase: "Running",
            podIPs: [{ ip: "10.0.0.2" }],
            containerStatuses: [{ name: "myapp", ready: true, containerID: "containerd://copy" }]
          }
        },
        metadata.namespace
      )
  }

  readonly certificate = (name?: string) => certificateOf(this.cluster, name)

  /** Posts a copy target and lets time pass until it is answered, half a minute at most. */
  readonly post = (certificate: string | undefined, spec: object = defaultSpec, user = "ann") =>
    Effect.gen({ self: this }, function* () {
      const { caller, clientHostname, clientName } = request(certificate)
      const asked = {
        caller: { ...caller, user },
        namespace: "default",
        body: { metadata: { name: "deploy.myapp" }, spec },
        certificate,
        clientName,
        clientHostname
      }
      const fiber = yield* Effect.forkChild(Effect.result(this.facade.createCopyTarget(asked)), {
        startImmediately: true
      })
      for (let i = 0; i < 60 && fiber.pollUnsafe() === undefined; i++) yield* pass("500 millis")
      return (yield* Fiber.join(fiber)) as Result.Result<CopyTarget, ApiError>
    })

  readonly get = (name: string) =>
    Effect.map(this.facade.copyTarget("default", name, request(undefined).caller), (object) => object as CopyTarget)

  readonly connect = (certificate: string, copy: CopyTarget, id?: bigint) =>
    connectTo(
      this.cluster,
      request(certificate, {
        isCopy: true,
        target: copy.metadata.name,
        sessionId: String(id ?? BigInt(`0x${copy.status.creator_session.id ?? ""}`)),
        query: "connect=true"
      })
    )

  /** Things that the operator holds in memory for copies, but for the kinds that it looks for from time to time. */
  held(): ReadonlyArray<string> {
    return [...this.holdings.now().keys()].filter(
      (kind) => /cop(y|ies)|scaled/i.test(kind) && !kind.includes("Leftovers")
    )
  }
}

/** The moment at which tests begin, epoch ms. */
const today = Date.UTC(2026, 10, 21)

export const begin = (limits: MemoryWorldOptions["limits"] = {}) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(today)
    const copied = new Copied()
    yield* Effect.addFinalizer(copied.kill)
    yield* copied.start(limits)
    return copied
  })

/** A copy that could be made. */
export const made = (answer: Result.Result<CopyTarget, ApiError>): CopyTarget => {
  if (Result.isFailure(answer)) throw answer.failure
  return answer.success
}

export const refused = (answer: Result.Result<CopyTarget, ApiError>): ApiError => {
  if (Result.isSuccess(answer)) throw new Error("it was made")
  return answer.failure
}

/** Lets minutes pass in steps in which controllers take turns. */
export const minutes = (count: number) =>
  Effect.gen(function* () {
    for (let i = 0; i < count * 12; i++) yield* pass("5 seconds")
  })

import { Effect, Fiber, Result } from "effect"
import type { ApiError } from "../../../src/app/api/status.ts"
import { copyLabel } from "../../../src/domain/copies/copy-record.ts"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { CopyTarget } from "../../../src/domain/resources/copy-target.ts"
import { deployments, pods } from "../../../src/domain/resources/core-kinds.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { pass, request } from "../../support/connect-request.ts"
import { connectTo, memberOf, startWorld } from "../../support/memory-session.ts"
import type { MemoryCluster, MemoryWorld } from "../../support/memory-world.ts"
import { replicas, defaultSpec } from "./copied.ts"

/** The lines that a client's log gets after its handshake. */
export const logsOf = (channel: FrameChannel) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    channel.open({
      message: (bytes) => {
        const decoded = daemonMessage.decode(bytes)
        if (decoded._tag === "Decoded" && decoded.value._tag === "LogMessage") lines.push(decoded.value.value.message)
      },
      ended: () => {},
      drained: () => {},
      ignored: () => {}
    })
    for (const message of [{ _tag: "SwitchProtocolVersion", value: "1.29.0" }, { _tag: "ReadyForLogs" }] as const) {
      channel.send(clientMessage.encode(message))
      yield* pass("1 second")
    }
    return lines
  })

/** A primary with members `a` (default) and `b`, each with `deployment/myapp`, and their kubelets. */
export class FleetCopied {
  readonly world: MemoryWorld
  readonly certificate: string

  constructor(world: MemoryWorld, certificate: string) {
    this.world = world
    this.certificate = certificate
    for (const cluster of world.members.values()) {
      const template = { metadata: { labels: { app: "myapp" } } }
      cluster.api.write(deployments, "myapp", { spec: { template, replicas } }, "default")
    }
    for (const cluster of [world.primary, ...world.members.values()]) cluster.trusted.add("ann")
  }

  member(name: string): MemoryCluster {
    return memberOf(this.world, name)
  }

  copies(cluster: string): ReadonlyArray<KubeObject> {
    return this.member(cluster)
      .api.peekAll(pods)
      .filter(({ metadata }) => metadata.labels?.[copyLabel] !== undefined)
  }

  /** Names of the copies' pods by cluster. */
  names(): Readonly<Record<string, ReadonlyArray<string>>> {
    return Object.fromEntries(
      [...this.world.members.keys()].map((name) => [name, this.copies(name).map(({ metadata }) => metadata.name)])
    )
  }

  /** The target's number of pods by cluster, and the label that keeps the number that it had. */
  workloads(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(
      [...this.world.members.keys()].map((name) => {
        const object = this.member(name).api.peek(deployments, "myapp", "default")
        const { replicas: number } = (object?.["spec"] ?? {}) as { readonly replicas?: number }
        const from = object?.metadata.labels?.["operator.metalbear.co/scaled-down-from"]
        return [name, from === undefined ? number : `${number} instead of ${from}`]
      })
    )
  }

  /** The kubelet of a cluster: every copy's container runs. */
  runCopies(...clusters: ReadonlyArray<string>): void {
    for (const cluster of clusters)
      for (const { metadata } of this.copies(cluster))
        this.member(cluster).api.write(
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

  /** Asks the primary, and lets time pass until it has answered, half a minute at most. */
  readonly ask = <A>(wanted: (facade: NonNullable<MemoryCluster["operator"]>) => Effect.Effect<A, ApiError>) =>
    Effect.gen({ self: this }, function* () {
      const facade = this.world.primary.operator
      if (facade === undefined) return yield* Effect.die("there is no primary")
      const fiber = yield* Effect.forkChild(Effect.result(wanted(facade)), { startImmediately: true })
      for (let i = 0; i < 120 && fiber.pollUnsafe() === undefined; i++) yield* pass("250 millis")
      return yield* Fiber.join(fiber)
    })

  readonly post = (spec: object = defaultSpec, certificate = this.certificate, user = "ann") => {
    const { caller, clientHostname, clientName } = request(certificate)
    return this.ask((facade) =>
      Effect.map(
        facade.createCopyTarget({
          caller: { ...caller, user },
          namespace: "default",
          body: { metadata: { name: "deploy.myapp" }, spec },
          certificate,
          clientName,
          clientHostname
        }),
        (object) => object as CopyTarget
      )
    )
  }

  readonly get = (name: string, user = "ann") =>
    this.ask((facade) =>
      Effect.map(
        facade.copyTarget("default", name, { ...request(this.certificate).caller, user }),
        (object) => object as CopyTarget
      )
    )

  /** The phase of a copy at the primary; the sentence of the refusal, if there is none. */
  readonly phase = (name: string) =>
    Effect.map(this.get(name), (answer) =>
      Result.isSuccess(answer) ? answer.success.status.phase : answer.failure.message
    )

  readonly connect = (copy: CopyTarget, id?: bigint, certificate = this.certificate) =>
    connectTo(
      this.world.primary,
      request(certificate, {
        isCopy: true,
        target: copy.metadata.name,
        sessionId: String(id ?? BigInt(`0x${copy.status.creator_session.id ?? ""}`)),
        query: "connect=true"
      })
    )

  /** A new leader of the primary, or of a member, after the one before was killed. */
  readonly replace = (cluster: MemoryCluster) =>
    Effect.gen({ self: this }, function* () {
      yield* this.world.kill(cluster)
      yield* pass("1 second")
      yield* this.world.start(cluster)
      yield* pass("2 seconds")
    })
}

export const beginFleet = (...options: Parameters<typeof startWorld>) =>
  Effect.map(startWorld(...options), ({ certificate, world }) => new FleetCopied(world, certificate))

/**
 * The life of one pod on this node: its folders, containers, probes, restarts and status, from the binding to the end
 * of its grace period. The pods of the node are chosen in `kubelet.ts`.
 */

import { randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { Cause, Deferred, Duration, Effect, Exit, Fiber, Queue, Result } from "effect"
import { within } from "../../../src/app/kernel/within.ts"
import { at } from "../../../src/domain/json.ts"
import type { ContainerRuntime } from "../../../src/domain/targets/pod-choice.ts"
import type { Endpoint } from "../network/endpoint.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { pods } from "../store/resource-refs.ts"
import { find, nameOf, namespaceOf, uidOf } from "../store/store-access.ts"
import type { AgentTarget } from "./agent-target.ts"
import { containerEnv, expandVariables, type PodSources } from "./container-env.ts"
import { ContainerLog } from "./container-log.ts"
import type { ContainerContext, ImageRegistry, RunningContainer } from "./container-program.ts"
import { asUser, containerUser } from "./container-user.ts"
import type { IssueToken } from "./container-volumes.ts"
import type { NodeStore } from "./node-store.ts"
import { podFiles } from "./pod-files.ts"
import { type AddressBook, PodNetwork } from "./pod-network.ts"
import { type ContainerSpec, imageName, isSidecar, type PodSpec } from "./pod-spec.ts"
import { type ContainerRecord, newContainerRecord, podStatus } from "./pod-status.ts"
import { awaitDeath, awaitStart, type ProbeWays, probeTarget, runProbe } from "./probe.ts"

/** Shared by all pods of a node. */
export interface NodeContext {
  readonly store: NodeStore
  readonly nodeName: string
  readonly directory: string
  readonly images: ImageRegistry
  readonly containerRuntime: ContainerRuntime
  readonly book: AddressBook
  readonly clusterDomain: string
  /** `KUBERNETES_SERVICE_*` */
  readonly serviceEnv: ReadonlyMap<string, string>
  readonly issueToken: IssueToken
  readonly restartBackOff: { readonly initial: Duration.Duration; readonly max: Duration.Duration }
  /** Bare container id → the running container. */
  readonly running: Map<string, { readonly container: RunningContainer; readonly target: AgentTarget }>
  readonly resolve: (namespace: string, name: string) => ReadonlyArray<string> | undefined
  readonly reach: (endpoint: Endpoint) => Endpoint
  readonly target: (containerId: string) => AgentTarget | undefined
  readonly now: () => number
  /** The grace in seconds; shorter while the node shuts down. */
  readonly limitGrace: (seconds: number) => number
}

export interface PodWorker {
  readonly pod: KubeObject
  readonly ip: string
  readonly containers: ReadonlyArray<ContainerRecord>
  /** Those that were added to the running pod, in order. */
  readonly ephemeralContainers: ReadonlyArray<ContainerRecord>
  /** Starts the containers among these that are new, once the pod runs. They are never started again. */
  readonly addContainers: (containers: ReadonlyArray<ContainerSpec>) => Effect.Effect<void>
  /** The whole life of the pod, until `stop`. Interruption is a shutdown of the node. Never fails. */
  readonly run: Effect.Effect<void>
  /** To be run when the pod is being deleted. */
  readonly stop: Effect.Effect<void>
  /** To be run when a ConfigMap or Secret has changed: updates the volumes that show it. */
  readonly refresh: (kind: "ConfigMap" | "Secret", name: string) => Effect.Effect<void>
}

const oneTurn = Effect.callback<void>((resume) => {
  const turn = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(turn))
})

const missingRetry = Duration.millis(250)
/** A container that ran for at least this time restarts without back-off. */
const healthyRunMs = 600_000

/** The exit code of a container that ended on request (128 + SIGTERM). */
const killedExitCode = 143

/** Bounds of a real kubelet for what it takes from a log. */
const messageLines = 80
const messageLength = 2_048

/** The end of a failed container's log as its message. Messages that a program writes into a file are not served. */
const terminationMessage = (
  { terminationMessagePolicy }: ContainerSpec,
  exitCode: number,
  log: ContainerLog
): { readonly message?: string } =>
  exitCode !== 0 && terminationMessagePolicy === "FallbackToLogsOnError"
    ? { message: log.tail(messageLines, messageLength) }
    : {}

const exitCodeOf = (exit: Exit.Exit<number>): number =>
  Exit.isSuccess(exit) ? exit.value : Cause.hasInterruptsOnly(exit.cause) ? killedExitCode : 1

/** The pod listens on `address`; its status shows the published address. */
export const makePodWorker = (node: NodeContext, pod: KubeObject, spec: PodSpec, address: string): PodWorker => {
  const namespace = namespaceOf(pod)
  const ip = node.book.addresses.publish(address)
  const init = (spec.initContainers ?? []).map(newContainerRecord)
  const containers = spec.containers.map(newContainerRecord)
  const ephemeral: Array<ContainerRecord> = []
  const added = Effect.runSync(Queue.unbounded<ContainerRecord>())
  /** The runs of ephemeral containers by the container whose processes they see. */
  const beside = new Map<string, Set<Fiber.Fiber<number>>>()
  /** Sidecars that have not started yet. */
  const starting = new Map<ContainerRecord, Deferred.Deferred<void>>()
  const stopped = Deferred.makeUnsafe<void>()
  const startedAt = node.now()
  let initialized = init.length === 0
  let outcome: "Succeeded" | "Failed" | undefined

  const logAll = (line: string): void => {
    for (const record of containers) record.log?.append(line)
  }
  const network = new PodNetwork(address, node.book, (message) => logAll(`kubelet: ${message}`))
  const sources: PodSources = {
    store: node.store,
    pod,
    namespace,
    podIp: ip,
    nodeName: node.nodeName,
    serviceAccountName: spec.serviceAccountName ?? "default"
  }
  const directory = path.join(node.directory, "pods", uidOf(pod))
  const files = podFiles({
    sources,
    spec,
    directory,
    nodeDirectory: node.directory,
    issueToken: node.issueToken,
    clusterDomain: node.clusterDomain
  })

  /** The pod with the containers that were added since it was bound. */
  const podNow = (): KubeObject => {
    const current = find(node.store, pods, namespace, nameOf(pod))
    return current?.metadata.uid === uidOf(pod) ? current : pod
  }
  const publish = (): void => {
    const current = find(node.store, pods, namespace, nameOf(pod))
    node.store.setStatus(
      pods,
      pod,
      podStatus({
        ip,
        startedAt,
        now: node.now(),
        initialized,
        outcome,
        initContainers: init,
        containers,
        ephemeralContainers: ephemeral,
        conditions: at(current, "status", "conditions")
      })
    )
  }
  const wait = (record: ContainerRecord, reason: string, message: string): void => {
    record.state = { _tag: "Waiting", reason, message }
    publish()
  }
  const gracePeriodSeconds = (): number => {
    const asked = find(node.store, pods, namespace, nameOf(pod))?.metadata.deletionGracePeriodSeconds ?? 0
    // The embedded store knows no graceful deletion and writes 0.
    return node.limitGrace(asked > 0 ? asked : (spec.terminationGracePeriodSeconds ?? 30))
  }

  /** The ways to a container that runs now. */
  const waysTo = (record: ContainerRecord, context: ContainerContext): ProbeWays => ({
    reach: node.book.reach,
    exec: (command) => {
      const run = node.images.get(imageName(record.spec.image))?.exec
      if (run !== undefined) return run(context, command)
      return Effect.sync(() => {
        record.log?.append("kubelet: no command can be run in a container of this image; the probe fails")
        return 1
      })
    }
  })

  /** Whether the container has started; false: it took too long. */
  const startup = (record: ContainerRecord, ways: ProbeWays): Effect.Effect<boolean> => {
    const probe = record.spec.startupProbe
    if (probe === undefined) return Effect.succeed(true)
    const target = probeTarget("startupProbe", probe, record.spec, ip)
    if ("unsupported" in target) {
      record.log?.append(`kubelet: ${target.unsupported}; the container never starts`)
      return Effect.never
    }
    return Effect.tap(awaitStart(probe, target, ways), (started) => {
      if (!started) record.log?.append("kubelet: the startupProbe failed too often; the container is restarted")
      return Effect.void
    })
  }

  const readiness = Effect.fnUntraced(function* (
    record: ContainerRecord,
    signal: Effect.Effect<void>,
    ways: ProbeWays
  ) {
    let signalled = false
    let passes = record.spec.readinessProbe === undefined
    const update = Effect.sync(() => {
      record.ready = signalled && passes
      publish()
    })
    const probe = record.spec.readinessProbe
    const awaitSignal = signal.pipe(Effect.andThen(Effect.sync(() => void (signalled = true))), Effect.andThen(update))
    if (probe === undefined) return yield* awaitSignal
    const target = probeTarget("readinessProbe", probe, record.spec, ip)
    if ("unsupported" in target) {
      record.log?.append(`kubelet: ${target.unsupported}; the container never becomes ready`)
      return
    }
    const probing = runProbe(probe, target, ways, (verdict) => {
      passes = verdict
      record.ready = signalled && passes
      publish()
    })
    yield* Effect.all([awaitSignal, probing], { concurrency: 2, discard: true })
  })

  /** Ends when the container must be restarted. */
  const liveness = (record: ContainerRecord, ways: ProbeWays): Effect.Effect<void> => {
    const probe = record.spec.livenessProbe
    if (probe === undefined) return Effect.never
    const target = probeTarget("livenessProbe", probe, record.spec, ip)
    if ("unsupported" in target) {
      record.log?.append(`kubelet: ${target.unsupported}; the container is never restarted for it`)
      return Effect.never
    }
    return awaitDeath(probe, target, ways).pipe(
      Effect.andThen(
        Effect.sync(() => record.log?.append("kubelet: the livenessProbe failed too often; the container is restarted"))
      )
    )
  }

  const userOf = (container: ContainerSpec): Result.Result<number, string> => {
    const imageUser = node.images.get(imageName(container.image))?.userId ?? 0
    return containerUser({ pod: { name: `${nameOf(pod)}_${namespace}(${uidOf(pod)})`, spec }, container, imageUser })
  }

  const runOnce = Effect.fnUntraced(function* (record: ContainerRecord, env: ReadonlyMap<string, string>) {
    const program = node.images.get(imageName(record.spec.image))
    if (program === undefined) return 1
    const userId = Result.getOrElse(userOf(record.spec), () => 0)
    const id = randomBytes(32).toString("hex")
    const containerId = `${node.containerRuntime}://${id}`
    const log = new ContainerLog(node.now)
    const began = node.now()
    const isReady = Deferred.makeUnsafe<void>()
    const root = files.root(record.spec)
    record.previousLog = record.log
    record.log = log
    record.containerId = containerId
    record.state = { _tag: "Running", startedAt: began }
    record.started = record.spec.startupProbe === undefined
    const context: ContainerContext = {
      pod: podNow(),
      containerName: record.spec.name,
      targetContainerName: record.spec.targetContainerName,
      podIp: ip,
      env,
      userId,
      args: [...(record.spec.command ?? []), ...(record.spec.args ?? [])].map((text) => expandVariables(text, env)),
      root,
      gracePeriodSeconds,
      log: (line) => log.append(line),
      ready: () => Deferred.doneUnsafe(isReady, Effect.void),
      listen: (port, onConnection) => network.listen(port, onConnection),
      target: (wanted) => asUser(userId, node.target(wanted)),
      onNode: () => [...node.running.values()].map((entry) => entry.container),
      reach: node.reach
    }
    const ways = waysTo(record, context)
    node.running.set(id, {
      container: {
        namespace,
        pod: nameOf(pod),
        podUid: uidOf(pod),
        container: record.spec.name,
        containerId,
        podIp: ip
      },
      target: {
        env,
        root,
        podIp: ip,
        resolve: (name) => node.resolve(namespace, name),
        redirect: (port, accept) => network.redirect(port, accept)
      }
    })
    publish()
    const signal =
      program.signalsReady === true ? Deferred.await(isReady) : Effect.raceFirst(Deferred.await(isReady), oneTurn)
    const ended = (exit: Exit.Exit<number>): void => {
      if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) log.append(Cause.pretty(exit.cause))
      node.running.delete(id)
      record.ready = false
      record.started = false
      const exitCode = exitCodeOf(exit)
      record.state = {
        _tag: "Terminated",
        exitCode,
        ...terminationMessage(record.spec, exitCode, log),
        startedAt: began,
        finishedAt: node.now(),
        containerId
      }
      log.end()
      publish()
    }
    return yield* Effect.scoped(
      Effect.gen(function* () {
        const started = yield* Deferred.make<void>()
        yield* Effect.forkScoped(Effect.andThen(Deferred.await(started), readiness(record, signal, ways)))
        // A fiber of its own: the scope waits for the program's end, whether the probe or the pod ends it.
        const running = yield* Effect.forkScoped(Effect.scoped(Effect.suspend(() => program(context))), {
          startImmediately: true
        })
        const watch = Effect.gen(function* () {
          if (yield* startup(record, ways)) {
            record.started = true
            publish()
            yield* Deferred.succeed(started, undefined)
            yield* Deferred.succeed(starting.get(record) ?? started, undefined)
            yield* liveness(record, ways)
          }
          yield* Fiber.interrupt(running)
        })
        yield* Effect.forkScoped(watch)
        return yield* Fiber.join(running)
      })
    ).pipe(
      Effect.onExit((exit) => Effect.sync(() => ended(exit))),
      Effect.catchCause((cause) => Effect.succeed(exitCodeOf(Exit.failCause(cause))))
    )
  })

  /** Waits for image, volumes and environment; gives the environment. */
  const prepare = Effect.fnUntraced(function* (record: ContainerRecord) {
    const image = imageName(record.spec.image)
    let pullDelay = node.restartBackOff.initial
    while (!node.images.has(image)) {
      const known = [...node.images.keys()].toSorted().join(", ")
      const hasJustFailed = record.state._tag === "Waiting" && record.state.reason === "ErrImagePull"
      const reason = hasJustFailed ? "ImagePullBackOff" : "ErrImagePull"
      wait(
        record,
        reason,
        `failed to pull image "${record.spec.image}": not found; images of this node: ${known || "none"}`
      )
      yield* Effect.sleep(pullDelay)
      pullDelay = Duration.min(Duration.times(pullDelay, 2), node.restartBackOff.max)
    }
    while (true) {
      const mounted = yield* files.mount(record.spec)
      const user = userOf(record.spec)
      const env = Result.flatMap(user, () => containerEnv(sources, record.spec, node.serviceEnv))
      if (Result.isSuccess(mounted) && Result.isSuccess(env)) return env.success
      if (Result.isFailure(mounted)) wait(record, "ContainerCreating", mounted.failure)
      else if (Result.isFailure(env)) wait(record, "CreateContainerConfigError", env.failure)
      yield* Effect.sleep(missingRetry)
    }
  })

  const runContainer = Effect.fnUntraced(function* (record: ContainerRecord, restart: (exitCode: number) => boolean) {
    const none = Duration.zero
    let delay = none
    while (true) {
      const env = yield* prepare(record)
      const began = node.now()
      const exitCode = yield* runOnce(record, env)
      // The processes of a container end with its main process.
      yield* Fiber.interruptAll(beside.get(record.spec.name) ?? [])
      if (!restart(exitCode)) return exitCode
      if (node.now() - began >= healthyRunMs) delay = none
      record.lastState = record.state
      record.restartCount++
      const seconds = Duration.toSeconds(delay)
      wait(
        record,
        "CrashLoopBackOff",
        `back-off ${seconds}s restarting failed container=${record.spec.name} pod=${nameOf(pod)}`
      )
      yield* Effect.sleep(delay)
      delay = Duration.isZero(delay)
        ? node.restartBackOff.initial
        : Duration.min(Duration.times(delay, 2), node.restartBackOff.max)
    }
  })

  const policy = spec.restartPolicy ?? "Always"
  const restartRule = (exitCode: number): boolean => policy === "Always" || (policy === "OnFailure" && exitCode !== 0)

  /**
   * SIGTERM, then the grace period: for the containers, and what is left of it for the sidecars, the last one first. A
   * program in this process cannot be killed: after the grace period it is left running, with a warning.
   */
  const terminate = Effect.fnUntraced(function* (
    fibers: ReadonlyArray<Fiber.Fiber<number>>,
    sidecars: ReadonlyArray<Fiber.Fiber<number>>
  ) {
    // One second more: process programs kill their process at the end of the grace period.
    const end = node.now() + (gracePeriodSeconds() + 1) * 1_000
    for (const group of [fibers, ...sidecars.toReversed().map((fiber) => [fiber])]) {
      if (yield* within(Fiber.interruptAll(group), Duration.millis(Math.max(0, end - node.now())))) continue
      yield* Effect.logWarning(
        `pod ${namespace}/${nameOf(pod)}: a program ignored its interruption beyond the grace period`
      )
    }
  })

  const life = Effect.scoped(
    Effect.gen(function* () {
      const fibers: Array<Fiber.Fiber<number>> = []
      const sidecars: Array<Fiber.Fiber<number>> = []
      yield* Effect.addFinalizer(() => Effect.suspend(() => terminate(fibers, sidecars)))
      const start = (record: ContainerRecord, restart: (exitCode: number) => boolean, group = fibers) =>
        Effect.forkDetach(runContainer(record, restart)).pipe(
          Effect.tap((fiber) => Effect.sync(() => group.push(fiber))),
          Effect.uninterruptible
        )
      for (const record of init) {
        if (isSidecar(record.spec)) {
          const started = Deferred.makeUnsafe<void>()
          starting.set(record, started)
          yield* start(record, () => true, sidecars)
          yield* Deferred.await(started)
          continue
        }
        const fiber = yield* start(record, (exitCode) => exitCode !== 0 && policy !== "Never")
        if ((yield* Fiber.join(fiber)) !== 0) return "Failed"
        record.ready = true
      }
      initialized = true
      const lasting = yield* Effect.forEach(containers, (record) => start(record, restartRule))
      const startAdded = Effect.gen(function* () {
        const record = yield* Queue.take(added)
        const fiber = yield* start(record, () => false)
        const target = record.spec.targetContainerName ?? ""
        beside.set(target, (beside.get(target) ?? new Set()).add(fiber))
        fiber.addObserver(() => void beside.get(target)?.delete(fiber))
      })
      yield* Effect.forkScoped(Effect.forever(startAdded))
      if (files.tokenSeconds !== undefined) {
        const renew = Effect.sleep(Duration.seconds(files.tokenSeconds * 0.8)).pipe(
          Effect.andThen(remount),
          Effect.forever
        )
        yield* Effect.forkScoped(renew)
      }
      const codes = yield* Effect.forEach(lasting, Fiber.join)
      return codes.every((code) => code === 0) ? "Succeeded" : "Failed"
    })
  )

  const remount = Effect.gen(function* () {
    for (const record of [...init, ...containers, ...ephemeral]) {
      if (record.state._tag === "Running") yield* files.mount(record.spec)
    }
  })

  const run = Effect.scoped(
    Effect.gen(function* () {
      publish()
      const living = yield* Effect.forkScoped(life)
      const end = yield* Effect.raceFirst(Fiber.join(living), Deferred.await(stopped).pipe(Effect.as("stopped")))
      if (end === "Succeeded" || end === "Failed") {
        outcome = end
        network.close()
        publish()
        yield* Deferred.await(stopped)
      }
      // Waits until the programs have ended; the race above does not wait for its loser.
      yield* Fiber.interrupt(living)
    })
  ).pipe(
    Effect.catchDefect((defect) =>
      Effect.logError(`pod ${namespace}/${nameOf(pod)} failed in the kubelet`, defect).pipe(
        Effect.andThen(
          Effect.sync(() => {
            outcome = "Failed"
            publish()
          })
        ),
        Effect.andThen(Deferred.await(stopped))
      )
    ),
    Effect.ensuring(
      Effect.promise(async () => {
        network.close()
        await fs.rm(directory, { recursive: true, force: true }).catch(() => undefined)
      })
    )
  )

  const refresh = (kind: "ConfigMap" | "Secret", name: string): Effect.Effect<void> =>
    files.uses(kind, name) ? remount : Effect.void

  const addContainers = (specs: ReadonlyArray<ContainerSpec>): Effect.Effect<void> =>
    Effect.sync(() => {
      const records = specs
        .filter(({ name }) => !ephemeral.some((record) => record.spec.name === name))
        .map(newContainerRecord)
      if (records.length === 0) return
      ephemeral.push(...records)
      publish()
      for (const record of records) Queue.offerUnsafe(added, record)
    })
  const stop = Effect.asVoid(Deferred.succeed(stopped, undefined))
  const all = [...init, ...containers]
  return { pod, ip, containers: all, ephemeralContainers: ephemeral, addContainers, run, stop, refresh }
}

/**
 * The life of one pod on this node, from the binding to the end of its grace period: the order in which its containers
 * start and end. The pods of the node are chosen in `kubelet.ts`, a single container is run in `container-run.ts`.
 */

import * as fs from "node:fs/promises"
import { Deferred, Duration, Effect, Fiber, Queue, type Scope } from "effect"
import { within } from "../../../src/app/kernel/within.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { NodeContext } from "./node-context.ts"
import { type ContainerSpec, isSidecar, type PodSpec } from "./pod-spec.ts"
import { PodState } from "./pod-state.ts"
import { type ContainerRecord, newContainerRecord } from "./pod-status.ts"
import { runContainer } from "./restarts.ts"

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

type Runs = Array<Fiber.Fiber<number>>

/** The runs of a pod's containers. */
class PodRuns {
  readonly #pod: PodState
  readonly #fibers: Runs = []
  readonly #sidecars: Runs = []
  /** The runs of ephemeral containers by the container whose processes they see. */
  readonly #beside = new Map<string, Set<Fiber.Fiber<number>>>()

  constructor(pod: PodState) {
    this.#pod = pod
  }

  #start(record: ContainerRecord, mayRestart: (exitCode: number) => boolean, group = this.#fibers) {
    // The processes of a container end with its main process.
    const endBeside = Effect.suspend(() => Fiber.interruptAll(this.#beside.get(record.spec.name) ?? []))
    return Effect.forkDetach(runContainer(this.#pod, record, mayRestart, endBeside)).pipe(
      Effect.tap((fiber) => Effect.sync(() => group.push(fiber))),
      Effect.uninterruptible
    )
  }

  /** Runs the init containers, one after the other; sidecars among them go on. False: one has failed. */
  initialize(): Effect.Effect<boolean> {
    const { initContainers, spec, starting } = this.#pod
    const start = this.#start.bind(this)
    const sidecars = this.#sidecars
    return Effect.gen(function* () {
      for (const record of initContainers) {
        if (isSidecar(record.spec)) {
          const started = Deferred.makeUnsafe<void>()
          starting.set(record, started)
          yield* start(record, () => true, sidecars)
          yield* Deferred.await(started)
          continue
        }
        const fiber = yield* start(record, (exitCode) => exitCode !== 0 && spec.restartPolicy !== "Never")
        if ((yield* Fiber.join(fiber)) !== 0) return false
        record.ready = true
      }
      return true
    })
  }

  startContainers(): Effect.Effect<ReadonlyArray<Fiber.Fiber<number>>> {
    const { containers, spec } = this.#pod
    const policy = spec.restartPolicy ?? "Always"
    const mayRestart = (code: number): boolean => policy === "Always" || (policy === "OnFailure" && code !== 0)
    return Effect.forEach(containers, (record) => this.#start(record, mayRestart))
  }

  startEphemeral(record: ContainerRecord): Effect.Effect<void> {
    const target = record.spec.targetContainerName ?? ""
    return Effect.map(
      this.#start(record, () => false),
      (fiber) => {
        this.#beside.set(target, (this.#beside.get(target) ?? new Set()).add(fiber))
        fiber.addObserver(() => void this.#beside.get(target)?.delete(fiber))
      }
    )
  }

  /**
   * SIGTERM, then the grace period: for the containers, and what is left of it for the sidecars, the last one first. A
   * program in this process cannot be killed: after the grace period it is left running, with a warning.
   */
  terminate(): Effect.Effect<void> {
    const pod = this.#pod
    const { now } = pod.node
    const groups = [this.#fibers, ...this.#sidecars.toReversed().map((fiber) => [fiber])]
    return Effect.gen(function* () {
      // One second more: process programs kill their process at the end of the grace period.
      const end = now() + (pod.gracePeriodSeconds() + 1) * 1_000
      for (const group of groups) {
        if (yield* within(Fiber.interruptAll(group), Duration.millis(Math.max(0, end - now())))) continue
        yield* Effect.logWarning(`${pod.title}: a program ignored its interruption beyond the grace period`)
      }
    })
  }
}

/** Mounts the volumes of the running containers again, with what they show now. */
const remount = (pod: PodState): Effect.Effect<void> =>
  Effect.suspend(() =>
    Effect.forEach(
      pod.all,
      ({ spec, state }) => (state._tag === "Running" ? Effect.asVoid(pod.files.mount(spec)) : Effect.void),
      { discard: true }
    )
  )

/** Runs the containers to their end; gives the outcome. */
const live = (
  pod: PodState,
  added: Queue.Dequeue<ContainerRecord>
): Effect.Effect<"Succeeded" | "Failed", never, Scope.Scope> =>
  Effect.gen(function* () {
    const runs = new PodRuns(pod)
    yield* Effect.addFinalizer(() => Effect.suspend(() => runs.terminate()))
    if (!(yield* runs.initialize())) return "Failed"
    pod.initialized = true
    const lasting = yield* runs.startContainers()
    const startAdded = Effect.flatMap(Queue.take(added), (record) => runs.startEphemeral(record))
    yield* Effect.forkScoped(Effect.forever(startAdded))
    const { tokenSeconds } = pod.files
    if (tokenSeconds !== undefined) {
      const renew = Effect.andThen(Effect.sleep(Duration.seconds(tokenSeconds * 0.8)), remount(pod))
      yield* Effect.forkScoped(Effect.forever(renew))
    }
    const codes = yield* Effect.forEach(lasting, Fiber.join)
    return codes.every((code) => code === 0) ? "Succeeded" : "Failed"
  })

/** The whole life until `stopped`, with the end of the pod's network and files. */
const lifeOf = (
  pod: PodState,
  added: Queue.Dequeue<ContainerRecord>,
  stopped: Effect.Effect<void>
): Effect.Effect<void> => {
  const life = Effect.gen(function* () {
    pod.publish()
    const living = yield* Effect.forkScoped(Effect.scoped(live(pod, added)))
    const end = yield* Effect.raceFirst(Fiber.join(living), Effect.as(stopped, "stopped" as const))
    if (end !== "stopped") {
      pod.outcome = end
      pod.network.close()
      pod.publish()
      yield* stopped
    }
    // Waits until the programs have ended; the race above does not wait for its loser.
    yield* Fiber.interrupt(living)
  })
  const failed = Effect.sync(() => {
    pod.outcome = "Failed"
    pod.publish()
  })
  const cleanUp = Effect.promise(async () => {
    pod.network.close()
    await fs.rm(pod.directory, { recursive: true, force: true }).catch(() => undefined)
  })
  return Effect.scoped(life).pipe(
    Effect.catchDefect((defect) =>
      Effect.logError(`${pod.title} failed in the kubelet`, defect).pipe(
        Effect.andThen(failed),
        Effect.andThen(stopped)
      )
    ),
    Effect.ensuring(cleanUp)
  )
}

/** The pod listens on `address`; its status shows the published address. */
export const makePodWorker = (node: NodeContext, pod: KubeObject, spec: PodSpec, address: string): PodWorker => {
  const state = new PodState(node, pod, spec, address)
  const added = Effect.runSync(Queue.unbounded<ContainerRecord>())
  const stopped = Deferred.makeUnsafe<void>()
  const { ephemeralContainers: ephemeral } = state
  return {
    pod,
    ip: state.ip,
    containers: [...state.initContainers, ...state.containers],
    ephemeralContainers: ephemeral,
    addContainers: (specs) =>
      Effect.sync(() => {
        const records = specs
          .filter(({ name }) => !ephemeral.some((record) => record.spec.name === name))
          .map(newContainerRecord)
        if (records.length === 0) return
        ephemeral.push(...records)
        state.publish()
        for (const record of records) Queue.offerUnsafe(added, record)
      }),
    run: lifeOf(state, added, Deferred.await(stopped)),
    stop: Effect.asVoid(Deferred.succeed(stopped, undefined)),
    refresh: (kind, name) => (state.files.uses(kind, name) ? remount(state) : Effect.void)
  }
}

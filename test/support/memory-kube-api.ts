/**
 * {@link KubeApi} over {@link MemoryObjects}, for tests: no HTTP, every call recorded, faults by hooks. The simulation
 * has an API server of its own over the same objects (`lab/simulation/world/sim-api-server.ts`).
 */

import { type Cause, Clock, Effect, Queue, Result, Stream } from "effect"
import { type Answer, MemoryObjects } from "../../lab/memory/memory-objects.ts"
import {
  keptEvent,
  keptItems,
  type KubeApi,
  KubeError,
  type KubeObject,
  type ResourceRef,
  type WatchEvent
} from "../../src/ports/kube-api.ts"

/** One request, as hooks and the record of calls see it. */
export interface MemoryCall {
  readonly verb: "get" | "list" | "watch" | "create" | "patch" | "update" | "delete"
  readonly plural: string
  readonly name: string
  readonly subresource: "status" | "ephemeralcontainers" | undefined
  /** The object or the patch that was sent. */
  readonly body: object | undefined
}

type Hook = (call: MemoryCall) => Effect.Effect<void, KubeError>

/**
 * A Kubernetes API in memory. Time is Effect's clock, a request takes time only if a hook makes it, and refusals come
 * from hooks.
 */
export class MemoryKubeApi implements KubeApi {
  readonly cluster: string
  readonly objects: MemoryObjects
  /** Every request in order, refused requests included. */
  readonly calls: Array<MemoryCall> = []
  /** Runs before a request is carried out; it may fail the request or make it wait. */
  before: Hook = () => Effect.void
  /** Runs after a write was carried out; failing here loses the answer. */
  after: Hook = () => Effect.void
  #reachable = true

  constructor(cluster: string) {
    this.cluster = cluster
    this.objects = new MemoryObjects(cluster)
  }

  // Faults and changes that tests bring about.

  /** An unreachable server answers nothing, and its watches break. */
  setReachable(reachable: boolean): void {
    this.#reachable = reachable
    if (!reachable) this.objects.endWatches(this.#unreachable("watch", "connection refused"))
  }

  setMuted(muted: boolean): void {
    this.objects.setMuted(muted)
  }

  endWatches(): void {
    this.objects.endWatches()
  }

  forgetHistory(breakWatches = false): void {
    this.objects.forgetHistory(breakWatches)
  }

  bookmark(): void {
    this.objects.bookmark()
  }

  get openWatches(): number {
    return this.objects.openWatches
  }

  peek(ref: ResourceRef, name: string, namespace?: string): KubeObject | undefined {
    return this.objects.peek(ref, name, namespace)
  }

  peekAll(ref: ResourceRef): ReadonlyArray<KubeObject> {
    return this.objects.peekAll(ref)
  }

  write(ref: ResourceRef, name: string, change: object, namespace?: string, now = 0): KubeObject {
    return this.objects.write(ref, name, change, { namespace, now })
  }

  erase(ref: ResourceRef, name: string, namespace?: string): void {
    this.objects.erase(ref, name, namespace)
  }

  // KubeApi

  readonly get: KubeApi["get"] = (ref, name, namespace) =>
    this.#request({ verb: "get", plural: ref.plural, name, subresource: undefined, body: undefined }, () =>
      Effect.fromResult(this.objects.get(ref, name, namespace))
    )

  readonly list: KubeApi["list"] = (ref, selection) =>
    this.#request({ verb: "list", plural: ref.plural, name: "", subresource: undefined, body: undefined }, () =>
      Effect.sync(() => {
        const { items, resourceVersion } = this.objects.list(ref, selection)
        return { items: keptItems(ref, items), resourceVersion }
      })
    )

  readonly watch: KubeApi["watch"] = (ref, resourceVersion, selection) =>
    Stream.unwrap(
      this.#request({ verb: "watch", plural: ref.plural, name: "", subresource: undefined, body: undefined }, () =>
        Effect.gen({ self: this }, function* () {
          const queue = yield* Queue.unbounded<WatchEvent, KubeError | Cause.Done>()
          const started = this.objects.watch(ref, resourceVersion, selection, {
            event: (event) => void Queue.offerUnsafe(queue, keptEvent(ref, event)),
            ended: (error) =>
              void (error === undefined ? Queue.endUnsafe(queue) : Effect.runSync(Queue.fail(queue, error)))
          })
          if (Result.isFailure(started)) return yield* started.failure
          yield* Effect.addFinalizer(() => Effect.sync(started.success))
          return Stream.fromQueue(queue)
        })
      )
    )

  readonly create: KubeApi["create"] = (ref, object, namespace) =>
    this.#write(
      {
        verb: "create",
        plural: ref.plural,
        name: (object as KubeObject).metadata.name,
        subresource: undefined,
        body: object
      },
      (now) => this.objects.create(ref, object, namespace, now)
    )

  readonly mergePatch: KubeApi["mergePatch"] = (ref, name, patch, options) =>
    this.#write({ verb: "patch", plural: ref.plural, name, subresource: options?.subresource, body: patch }, () =>
      this.objects.mergePatch(ref, name, patch, options)
    )

  readonly update: KubeApi["update"] = (ref, object, options) =>
    this.#write(
      {
        verb: "update",
        plural: ref.plural,
        name: object.metadata.name,
        subresource: options.subresource,
        body: object
      },
      () => this.objects.update(ref, object, options)
    )

  readonly delete: KubeApi["delete"] = (ref, name, options) =>
    this.#write({ verb: "delete", plural: ref.plural, name, subresource: undefined, body: undefined }, (now) =>
      this.objects.delete(ref, name, options, now)
    )

  #unreachable(operation: string, detail: string): KubeError {
    return this.objects.error(operation, "Unreachable", detail)
  }

  #request<A, R>(call: MemoryCall, answer: () => Effect.Effect<A, KubeError, R>): Effect.Effect<A, KubeError, R> {
    return Effect.suspend(() => {
      this.calls.push(call)
      if (!this.#reachable) return Effect.fail(this.#unreachable(call.verb, "connection refused"))
      return Effect.andThen(this.before(call), () =>
        Effect.suspend(() =>
          this.#reachable ? answer() : Effect.fail(this.#unreachable(call.verb, "connection reset"))
        )
      )
    })
  }

  #write<A>(call: MemoryCall, carryOut: (now: number) => Answer<A>): Effect.Effect<A, KubeError> {
    return this.#request(call, () =>
      Effect.tap(
        Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fromResult(carryOut(now))),
        () => this.after(call)
      )
    )
  }
}

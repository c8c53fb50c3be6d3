/**
 * A simulated API server on the network: requests with time and faults, watches, the aggregation layer's view of the
 * operator. The objects themselves are kept by `lab/memory`; the server that real clients can talk to is
 * `lab/cluster`.
 */

import { Cause, Effect, Result, Stream } from "effect"
import type { OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import type { ApiError } from "../../../src/app/api/status.ts"
import { selectedPrimary } from "../../../src/domain/copies/copy-order.ts"
import { at } from "../../../src/domain/json.ts"
import { copyTargets } from "../../../src/domain/resources/copy-target.ts"
import { namespaces, subjectAccessReviews } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordOperators } from "../../../src/domain/resources/mirrord-operator.ts"
import {
  keptEvent,
  keptItems,
  type KubeApi,
  KubeError,
  type KubeObject,
  type ResourceRef,
  type Selection
} from "../../../src/ports/kube-api.ts"
import { type Answer, MemoryObjects, type WatchListener } from "../../memory/memory-objects.ts"
import type { Cancel, Kernel } from "../kernel/kernel.ts"
import type { RandomStream } from "../kernel/random-stream.ts"
import type { SimProcess } from "../kernel/sim-process.ts"
import type { AccountTokens } from "./account-tokens.ts"
import type { CallFault } from "./call-faults.ts"
import { Flow, type Network, type Place } from "./network.ts"
import type { PipeEnd } from "./pipe.ts"
import { networkRoad, type OneWay, type Road } from "./road.ts"
import { WatchInbox } from "./watch-inbox.ts"
import type { PortCall, WorldEvent } from "./world-event.ts"

/** How long the HTTP adapter waits for a connection, an answer, an event of a watch, ms. */
const connectTimeout = 10_000
const answerTimeout = 30_000
const watchSilence = 300_000
/** When the server ends a watch by itself, and how often it sends a bookmark, ms. */
const watchEnds = 290_000
const bookmarkEvery = 60_000
/** Time until a user's client begins a broken watch again, ms. */
const followAgain = 800
/** The shortest lifetime of a token that may be asked for, s. */
const minLifetime = 600

/** The caller of a request: a process of an operator, and where it runs. */
export interface ApiCaller {
  readonly process: SimProcess
  readonly place: Place
  /** The bearer token that is sent now; without one the server knows the caller by other means. */
  readonly token?: () => string
  /** Makes the way of a call, or says why there is none; over the network unless given. */
  readonly road?: () => Road | string
  /** Numbers a call and says what goes wrong with it; a caller that dies of the fault gets no answer. */
  readonly call: (call: Omit<PortCall, "index" | "operator">) => {
    readonly call: PortCall
    readonly fault: CallFault | undefined
  }
  /** Ends the caller, because of a fault. */
  readonly crash: (detail: string) => void
}

export interface ApiServerOptions {
  readonly kernel: Kernel
  readonly network: Network
  readonly cluster: string
  readonly emit: (event: WorldEvent) => void
  /** Asks the operator behind the aggregation layer, in its own process. */
  readonly askOperator: <A>(
    use: (facade: OperatorFacade["Service"]) => Effect.Effect<A, ApiError>,
    answer: (result: Answer<A>) => void
  ) => void
  /** The user as which operators call, who may create `MirrordClusterSession`s, as a SubjectAccessReview says. */
  readonly envoy: string
  /** The tokens that it has granted. */
  readonly tokens: AccountTokens
}

/** The way of a watch that never begins. */
const nowhere: OneWay = { send: () => {}, stop: () => {} }

interface CopyList {
  readonly items: ReadonlyArray<KubeObject>
  readonly resourceVersion: string
}

/** The objects that a user follows. */
interface Followed {
  readonly ref: ResourceRef
  readonly selection: Selection
}

/** The objects that an operator watches. */
interface Watched {
  readonly ref: ResourceRef
  readonly selection: Selection | undefined
}

/** A call as its caller asks it. */
type Asked = Omit<PortCall, "index" | "operator" | "to">

const asked = (
  verb: PortCall["verb"],
  ref: ResourceRef,
  place: { readonly name?: string | undefined; readonly namespace?: string | undefined } = {},
  { body, subresource }: Partial<Pick<PortCall, "body" | "subresource">> = {}
): Asked => ({
  verb,
  group: ref.group,
  resource: ref.plural,
  namespace: place.namespace,
  name: place.name ?? "",
  body,
  subresource
})

/** A call that has reached the server, and what is to go wrong with it. */
interface ServedCall {
  readonly verb: string
  readonly fault: CallFault | undefined
  /** Ends the caller's process. */
  readonly crash: () => void
}

type Serve<A> = (answer: (result: Answer<A>) => void, staleBy: number) => void

export class ApiServer {
  readonly objects: MemoryObjects
  readonly place: Place
  readonly #options: ApiServerOptions
  #down = false
  #watchDelay: { readonly ms: number; readonly reordered: boolean } = { ms: 0, reordered: false }
  /** By uid: how late the object's events are, where each object has its own delay, ms. */
  readonly #delays = new Map<string, number>()
  /** By uid: when its last late event arrives, epoch ms; `#lastDue` is the latest of them. */
  readonly #due = new Map<string, number>()
  #lastDue = -Infinity
  /** When the last call is answered that was to be slow, epoch ms. */
  #slowUntil = -Infinity
  readonly #random: RandomStream

  constructor(options: ApiServerOptions) {
    this.#options = options
    this.place = options.cluster
    this.objects = new MemoryObjects(options.cluster)
    this.#random = options.kernel.random.split(`api server ${options.cluster}`)
    this.objects.committed = (commit) => options.emit({ _tag: "Committed", cluster: options.cluster, commit })
    this.#bookmarks()
  }

  get isDown(): boolean {
    return this.#down
  }

  /** Whether the server answers, its watches tell everything at once, and all late events and answers have arrived. */
  get isWell(): boolean {
    return (
      !this.#down &&
      !this.objects.isMuted &&
      this.#watchDelay.ms === 0 &&
      this.#options.kernel.now > Math.max(this.#lastDue, this.#slowUntil)
    )
  }

  /** Whether the server knows the bearer of a token now. */
  accepts(token: string): boolean {
    return this.#options.tokens.accepts(token)
  }

  /** Stops the server: connections are refused; watches, and sessions' connections to the operator behind it, break. */
  stop(): void {
    this.#down = true
    this.objects.endWatches(this.#unreachable("watch", "connection reset"))
    for (const {
      places: [, served],
      reset,
      what
    } of this.#options.network.connections) {
      if (served === this.place && what.startsWith("session ")) reset()
    }
  }

  /** Starts the server again. Its new process knows no older versions to watch from. */
  start(): void {
    this.#down = false
    this.objects.forgetHistory()
  }

  /** The API as one caller sees it from its place. */
  access(caller: ApiCaller): KubeApi {
    const { objects } = this
    const { kernel } = this.#options
    const request = <A>(call: Asked, serve: Serve<A>) => this.#request(caller, call, serve)
    return {
      cluster: this.#options.cluster,
      get: (ref, name, namespace) => this.#get(caller, ref, name, namespace),
      list: (ref, selection) =>
        request(asked("list", ref, selection), (answer, staleBy) => {
          if (ref.plural === copyTargets.plural) return this.#listCopies(selection, answer)
          const { items, resourceVersion } = objects.list(ref, selection, staleBy)
          answer(Result.succeed({ items: keptItems(ref, items), resourceVersion }))
        }),
      create: (ref, object, namespace) => {
        const place = { name: (object as KubeObject).metadata?.name, namespace }
        return request(asked("create", ref, place, { body: object }), (answer) => {
          if (ref.plural === subjectAccessReviews.plural) answer(Result.succeed(this.#review(object)))
          else if (ref.plural === copyTargets.plural) this.#orderCopy(object, namespace, answer)
          else if (ref.plural.startsWith("serviceaccounts/")) answer(this.#grant(object))
          else answer(objects.create(ref, object, namespace, kernel.now))
        })
      },
      mergePatch: (ref, name, patch, options) => {
        const call = asked("patch", ref, { ...options, name }, { body: patch, subresource: options?.subresource })
        return request(call, (answer) => answer(objects.mergePatch(ref, name, patch, options)))
      },
      update: (ref, object, options) => {
        const place = { ...options, name: object.metadata.name }
        const call = asked("update", ref, place, { body: object, subresource: options.subresource })
        return request(call, (answer) => answer(objects.update(ref, object, options)))
      },
      delete: (ref, name, options) => {
        const preconditions = { uid: options?.uid, resourceVersion: options?.resourceVersion }
        const body = options?.uid === undefined ? undefined : { preconditions }
        return request(asked("delete", ref, { ...options, name }, { body }), (answer) =>
          answer(objects.delete(ref, name, options, kernel.now))
        )
      },
      watch: (ref, resourceVersion, selection) =>
        Stream.unwrap(this.#openWatch(caller, { ref, selection }, resourceVersion))
    }
  }

  #get(caller: ApiCaller, ref: ResourceRef, name: string, namespace: string | undefined) {
    const { objects } = this
    // A cluster without identity says so without any call, so that stories in which none has one are as before.
    if (ref.plural === namespaces.plural && objects.peek(namespaces, name) === undefined)
      return Effect.fromResult(objects.get(ref, name))
    return this.#request<KubeObject>(caller, asked("get", ref, { name, namespace }), (answer) => {
      if (ref.plural !== mirrordOperators.plural) return answer(objects.get(ref, name, namespace))
      this.#options.askOperator(
        ({ describe }) => Effect.map(describe, (object) => ({ ...object, metadata: { name: "operator" } })),
        answer
      )
    })
  }

  /** Brings a call to the server and its answer back, or a failure if none comes in time. */
  #request<A>(caller: ApiCaller, call: Asked, serve: Serve<A>, taken?: Road | string): Effect.Effect<A, KubeError> {
    const { cluster, emit, network, tokens } = this.#options
    return Effect.callback<A, KubeError>((resume) => {
      const { call: numbered, fault } = caller.call({ ...call, to: cluster })
      if (caller.process.state === "dead") return
      const token = caller.token?.()
      const authenticated: Serve<A> = (answer, staleBy) =>
        token === undefined || tokens.accepts(token)
          ? serve(answer, staleBy)
          : answer(Result.fail(this.objects.error(call.verb, "Unauthorized", "Unauthorized", 401)))
      if (fault?._tag === "Slow") this.#thinks(fault.ms)
      const road = taken ?? this.#road(caller)
      if (typeof road === "string") {
        const none: Answer<A> = Result.fail(this.#unreachable(call.verb, road))
        emit({ _tag: "Answered", call: numbered, ...outcomeOf(none) })
        return resume(Effect.fromResult(none))
      }
      let isOver = false
      const over = (): void => {
        isOver = true
        cancelTimer()
        whole()
        if (taken === undefined) road.close()
      }
      const finish = (result: Answer<A>): void => {
        if (isOver) return
        over()
        emit({ _tag: "Answered", call: numbered, ...outcomeOf(result) })
        resume(Effect.fromResult(result))
      }
      const isConnected = !road.isDialled || network.isOpen(caller.place, this.place)
      const timeout = isConnected ? answerTimeout : connectTimeout
      const cancelTimer = caller.process.after(timeout, () =>
        finish(Result.fail(this.#unreachable(call.verb, `no answer within ${timeout} ms`)))
      )
      const whole = road.whenBroken((why) => finish(Result.fail(this.#unreachable(call.verb, why))))
      const back = (result: Answer<A>): void => road.back(() => finish(result))
      road.go(() => {
        // A caller that gave up before the packet got through has closed the connection.
        if ((isOver || caller.process.state === "dead") && timeout === connectTimeout) return
        const crash = (): void => caller.crash(`after call ${numbered.index}`)
        this.#serve({ verb: call.verb, fault, crash }, authenticated, back)
      })
      return Effect.sync(over)
    })
  }

  #road(caller: ApiCaller): Road | string {
    return caller.road?.() ?? networkRoad(this.#options, caller.place, this.place, caller.process)
  }

  /** Opens a watch of a caller, which ends with the scope, with the caller, or after a while. */
  #openWatch(caller: ApiCaller, followed: Watched, resourceVersion: string) {
    const { kernel } = this.#options
    const { ref, selection } = followed
    return Effect.gen({ self: this }, function* () {
      const inbox = new WatchInbox((run) => kernel.soon(run, caller.process))
      const road = this.#road(caller)
      const flow = typeof road === "string" ? nowhere : road.flowBack(caller.process)
      if (typeof road !== "string") yield* Effect.addFinalizer(() => Effect.sync(road.close))
      const { heard, stop: stopWaiting } = this.#silence(caller.process, (error) => inbox.end(Effect.fail(error)))
      const stop = yield* this.#request<() => void>(
        caller,
        asked("watch", ref, selection, { body: selection }),
        (answer) => {
          const listener = this.#listener(ref, { flow, heard, inbox })
          const started = this.objects.watch(ref, resourceVersion, selection, listener)
          if (Result.isSuccess(started)) {
            // A caller that gave up or died before the answer came cannot stop the watch itself.
            if (caller.process.state === "dead") started.success()
            else kernel.after(watchEnds, started.success)
          }
          answer(started)
        },
        road
      )
      heard()
      const ends = kernel.after(watchEnds, () => {
        stop()
        flow.send(0, () => inbox.end(Cause.done()))
      })
      const over = (): void => {
        stopWaiting()
        ends()
        stop()
        flow.stop()
        if (typeof road === "string") return
        whole()
        road.close()
      }
      const whole =
        typeof road === "string"
          ? () => {}
          : road.whenBroken((why) => {
              over()
              inbox.end(Effect.fail(this.#unreachable("watch", why)))
            })
      const mourning = caller.process.whenDead(over)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          mourning()
          over()
        })
      )
      return inbox.stream
    })
  }

  /** Passes the events of a watch on to its caller. */
  #listener(
    ref: ResourceRef,
    { flow, heard, inbox }: { readonly flow: OneWay; readonly heard: () => void; readonly inbox: WatchInbox }
  ): WatchListener {
    return {
      event: (event) =>
        this.#late(event._tag === "Bookmark" ? undefined : event.object.metadata.uid, () =>
          flow.send(0, () => {
            heard()
            inbox.put(keptEvent(ref, event))
          })
        ),
      ended: (error) =>
        this.#late(undefined, () =>
          flow.send(0, () => inbox.end(error === undefined ? Cause.done() : Effect.fail(error)))
        )
    }
  }

  /** A request of a user to the server itself. A user who has gone gets no answer. */
  ask<A>(from: PipeEnd, serve: (objects: MemoryObjects) => Answer<A>, answer: (result: Answer<A>) => void): void {
    const { network } = this.#options
    let isOver = false
    const finish = (result: Answer<A>): void => {
      if (isOver) return
      isOver = true
      cancel()
      answer(result)
    }
    const cancel = from.process.after(answerTimeout, () =>
      finish(Result.fail(this.#unreachable("ask", `no answer within ${answerTimeout} ms`)))
    )
    network.send(from.place, this.place, () => {
      if (isOver) return
      const result = this.#down ? Result.fail(this.#unreachable("ask", "connection refused")) : serve(this.objects)
      network.send(this.place, from.place, () => finish(result), from.process)
    })
  }

  /**
   * A user follows the objects of a selection: each is told as it is now, and each time that it has changed. A watch
   * that breaks is begun again, whatever the reason. The result stops it.
   */
  follow(from: PipeEnd, { ref, selection }: Followed, told: (object: KubeObject) => void): Cancel {
    const { kernel, network } = this.#options
    let isOver = false
    let stop = (): void => {}
    const again = (): void => void from.process.after(followAgain, list)
    const watch = (version: string): void => {
      const flow = new Flow({ kernel, network }, this.place, from.place, from.process)
      network.send(from.place, this.place, () => {
        if (isOver) return
        if (this.#down) return network.send(this.place, from.place, again, from.process)
        const started = this.objects.watch(ref, version, selection, {
          event: (event) => {
            if (event._tag !== "Changed") return
            this.#late(event.object.metadata.uid, () => flow.send(0, () => isOver || told(event.object)))
          },
          ended: () => this.#late(undefined, () => flow.send(0, again))
        })
        if (Result.isFailure(started)) return network.send(this.place, from.place, again, from.process)
        stop = () => {
          started.success()
          flow.stop()
        }
      })
    }
    const list = (): void => {
      if (isOver) return
      stop()
      this.ask(
        from,
        (objects) => Result.succeed(objects.list(ref, selection)),
        (answer) => {
          if (isOver) return
          if (Result.isFailure(answer)) return again()
          const { items, resourceVersion } = answer.success
          for (const object of items) if (!isOver) told(object)
          if (!isOver) watch(resourceVersion)
        }
      )
    }
    const over = (): void => {
      isOver = true
      stop()
      forget()
    }
    const forget = from.process.whenDead(over)
    list()
    return over
  }

  /**
   * Sends an event of a watch, late if watches are. Events of one object keep their order; a bookmark, and the end of
   * the watch, come after all earlier events.
   */
  #late(uid: string | undefined, send: () => void): void {
    const { kernel } = this.#options
    const { ms, reordered } = this.#watchDelay
    if (ms === 0 && this.#lastDue < kernel.now) return send()
    const delay = reordered && uid !== undefined ? (this.#delays.get(uid) ?? this.#random.int(0, ms)) : ms
    if (uid !== undefined) this.#delays.set(uid, delay)
    // After the lag has become less, newer events do not overtake older ones.
    const before = (uid === undefined ? this.#lastDue : this.#due.get(uid)) ?? -Infinity
    const due = Math.max(kernel.now + delay, before)
    if (due <= kernel.now && before < kernel.now) return send()
    if (uid !== undefined) this.#due.set(uid, due)
    this.#lastDue = Math.max(this.#lastDue, due)
    kernel.after(due - kernel.now, send)
  }

  /** From now on watches lag by `ms`; with `reordered` each object's events lag by a time of their own up to `ms`. */
  delayWatches(ms: number, reordered: boolean): void {
    this.#watchDelay = { ms, reordered }
    this.#delays.clear()
  }

  #serve<A>({ crash, fault, verb }: ServedCall, serve: Serve<A>, back: (result: Answer<A>) => void): void {
    if (this.#down) return back(Result.fail(this.#unreachable(verb, "connection refused")))
    switch (fault?._tag) {
      case undefined:
        return serve(back, 0)
      case "Slow":
        this.#thinks(fault.ms)
        return void this.#options.kernel.after(fault.ms, () => serve(back, 0))
      case "Stale":
        return serve(back, verb === "list" ? fault.by : 0)
      case "Crash":
        // The answer is lost, because its caller is dead.
        return serve(crash, 0)
      case "Fail": {
        const { _tag, when, ...given } = fault
        const error = new KubeError({
          cluster: this.place,
          operation: verb,
          detail: `injected ${fault.reason}`,
          ...given
        })
        if (when === "before") return back(Result.fail(error))
        return serve(() => back(Result.fail(error)), 0)
      }
    }
  }

  /** Notes that a call takes so many ms from now on. */
  #thinks(ms: number): void {
    this.#slowUntil = Math.max(this.#slowUntil, this.#options.kernel.now + ms)
  }

  /** Watches for a server that has been silent for too long, as a watch's client does. */
  #silence(process: SimProcess, fail: (error: KubeError) => void) {
    let last = process.now()
    let cancel = (): void => {}
    const check = (): void => {
      const left = last + watchSilence - process.now()
      if (left <= 0) return fail(this.#unreachable("watch", "no word for too long"))
      cancel = process.after(left, check)
    }
    cancel = process.after(watchSilence, check)
    return {
      heard: () => {
        last = process.now()
      },
      stop: () => cancel()
    }
  }

  #bookmarks(): void {
    this.#options.kernel.after(bookmarkEvery, () => {
      this.objects.bookmark()
      this.#bookmarks()
    })
  }

  /** Copies of targets are no objects of the server: its operator makes and shows them. */
  #orderCopy(body: object, namespace = "", answer: (result: Answer<KubeObject>) => void): void {
    const caller = { user: this.#options.envoy, groups: [], extra: {} }
    const own = { certificate: undefined, clientName: undefined, clientHostname: undefined }
    this.#options.askOperator(
      (facade) =>
        Effect.map(facade.createCopyTarget({ caller, namespace, body, ...own }), (made) => made as KubeObject),
      answer
    )
  }

  #listCopies(selection: Selection | undefined, answer: (result: Answer<CopyList>) => void): void {
    const primary = selectedPrimary(selection?.labelSelector ?? null)
    const { name, namespace } = selection ?? {}
    const named = { ...(primary === undefined ? {} : { primary }), ...(name === undefined ? {} : { name }) }
    this.#options.askOperator(
      (facade) =>
        Effect.map(facade.listCopyTargets({ namespace, ...named }), (items) => ({
          items: items as ReadonlyArray<KubeObject>,
          resourceVersion: "0"
        })),
      answer
    )
  }

  #review(object: object): KubeObject {
    const { spec } = object as {
      readonly spec: { readonly user: string; readonly resourceAttributes: { readonly resource: string } }
    }
    // Everybody may connect, as the chart's role for developers says.
    const isOfPrimaries = spec.resourceAttributes.resource === mirrordClusterSessions.plural
    const allowed = !isOfPrimaries || spec.user === this.#options.envoy
    return { metadata: { name: "" }, status: { allowed } }
  }

  /** A TokenRequest. */
  #grant(object: object): Answer<KubeObject> {
    const seconds = at(object, "spec", "expirationSeconds")
    if (typeof seconds !== "number" || seconds < minLifetime)
      return Result.fail(
        this.objects.error("create", "Invalid", "may not specify a duration less than 10 minutes", 422)
      )
    const status = { token: this.#options.tokens.grant(seconds * 1_000) }
    return Result.succeed({ metadata: { name: "" }, status })
  }

  #unreachable(operation: string, detail: string): KubeError {
    return this.objects.error(operation, "Unreachable", detail)
  }
}

const outcomeOf = (
  result: Answer<unknown>
): Pick<Extract<WorldEvent, { readonly _tag: "Answered" }>, "outcome" | "retryAfterMs"> => {
  if (Result.isSuccess(result)) return { outcome: "ok" }
  const { reason, retryAfterMs } = result.failure
  return { outcome: reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/**
 * Copies of targets over many clusters, as a primary serves them: orders one copy of one name from each cluster, asks
 * the clusters how far theirs are, and says which pod a session on the copy is for. The primary keeps no record of
 * them; `domain/copies/fleet-copy.ts` decides from what the clusters answer.
 */

import { Clock, Effect, Result, type Scope } from "effect"
import { copyName } from "../../domain/copies/copied-pod.ts"
import { fleetCopyTarget, sharedCopyTarget } from "../../domain/copies/copy-info.ts"
import type { CopyOrder } from "../../domain/copies/copy-order.ts"
import { type CopyRequest, readCopyRequest } from "../../domain/copies/copy-request.ts"
import { fleetCopyPlan, type FleetCopyPlan, type MemberCopy, noCopyText } from "../../domain/copies/fleet-copy.ts"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { SessionStart } from "../../domain/fleet/configuration.ts"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import { jsonEqual } from "../../domain/json.ts"
import type { CopyTarget } from "../../domain/resources/copy-target.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import { type SessionId, sessionIdHex, sessionIdName } from "../../domain/sessions/session-id.ts"
import { parseTargetJson } from "../../domain/targets/target-json.ts"
import { formatTargetName } from "../../domain/targets/target-path.ts"
import type { Target } from "../../domain/targets/target.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import type { CopySelection, CopyTargetRequest } from "../api/operator-facade.ts"
import { ApiError, badRequest, forbidden, internalError } from "../api/status.ts"
import { type BackgroundCalls, type CallEnd, makeBackgroundCalls } from "../kernel/background-calls.ts"
import { countHolding } from "../kernel/holdings.ts"
import type { InTurn } from "../kernel/keyed-mutex.ts"
import { logWarning } from "../kernel/log.ts"
import { isRefusal } from "../kernel/mirrored-object.ts"
import { noDefault } from "../services/ask-cluster.ts"
import type { FurtherStatus } from "../services/capability.ts"
import type { ConnectedCopy, CopyConnect, ServedCopies } from "../services/copy-targets.ts"
import type { ReachedCluster } from "../services/fleet-view.ts"
import type { CountedCopy, InPlace } from "./copy-places.ts"
import { auditCopied, type CreateCopyOptions, inItsTurn, mayCopy, newSessionId } from "./create-copy.ts"
import { noSuchCopy } from "./local-copies.ts"
import { type Answer, askClusters, orderCopy, type OrderedCopy } from "./ordered-copies.ts"
import { splitOfCopy, splitsOfSession, splitsQueues } from "./split-of-copy.ts"

/** Milliseconds between two checks of copies without requests, so that the operator's status is true. */
const lookEvery = 10_000
/** Milliseconds after which a copy is forgotten of which its default cluster tells nothing any more. */
const forgetAfter = 300_000

export interface FleetCopiesOptions {
  /** The API of the primary's own cluster, with retries. */
  readonly awaited: KubeApi
  readonly clusters: () => ReadonlyArray<ReachedCluster>
  readonly inPlace: InPlace
  /** Requests of one name come one after the other. */
  readonly inTurn: InTurn
  /** Fails if mirrord policies of the primary's cluster forbid the copy. */
  readonly permitted: CreateCopyOptions["permitted"]
  /** Name of the primary's cluster as a DNS label. */
  readonly primary: string
  readonly sessionStart: SessionStart
  readonly splits: CreateCopyOptions["splits"]
}

export interface FleetCopies extends Omit<ServedCopies, "createOrdered"> {
  readonly status: () => NonNullable<FurtherStatus["copy_targets"]>
}

type Ordered = ReadonlySet<ClusterName>

/** The knowledge of this process about one copy. All of it is found out again after a change of leaders. */
interface Known {
  /** The Kubernetes user whose copy it is. */
  readonly user: string
  shown: CopyTarget
  /** When the default cluster last reported it, epoch ms. */
  seenAt: number
  /** Since when the default's copy is ready, epoch ms. */
  readySince: number | undefined
  /** The clusters that did not carry out the last order. */
  readonly problems: Map<ClusterName, { readonly why: string; readonly isFinal: boolean }>
  /** The clusters that have carried out an order of this process. */
  ordered: Ordered
  /** The order that the other clusters get, once this process knows that its user may have the copy. */
  placed: Placed | undefined
}

/** An order as this process stands for it. The default cluster cannot change it. */
interface Placed {
  readonly order: CopyOrder
  readonly request: CopyRequest
}

interface State {
  readonly options: FleetCopiesOptions
  /** By `namespace/name`. */
  readonly known: Map<string, Known>
  /** The orders to clusters, by copy and cluster, and the look at all copies. */
  readonly calls: BackgroundCalls
}

/** The answers of the clusters. */
interface Found {
  readonly answers: ReadonlyMap<ClusterName, Answer>
  readonly defaultCluster: ClusterName
  /** The default cluster's copies. */
  readonly copies: ReadonlyArray<OrderedCopy>
  /** {@link Known.ordered} of each copy when the clusters were asked: their answers know no later order. */
  readonly orderedBefore: ReadonlyMap<string, Ordered>
  /** Whether a session that has begun on the copy asks. */
  readonly isBegun?: boolean | undefined
}

/** One copy as the clusters have it. */
interface Judged {
  readonly ordered: OrderedCopy
  readonly known: Known
  readonly plan: FleetCopyPlan
}

const keyOf = ({ metadata: { name, namespace } }: CopyTarget): string => `${namespace}/${name}`

const defaultOf = ({ options }: State): ReachedCluster | undefined =>
  options.clusters().find(({ isDefault }) => isDefault)

/**
 * The copy of another cluster than the default. An order that a process before this one has given may have been cut
 * short, and its pod have been made and no more: before there is a session, a failed copy is ordered once again.
 */
const memberCopy = (
  known: Known,
  cluster: ClusterName,
  answer: Answer,
  { isBegun, key, orderedBefore }: { readonly key: string } & Pick<Found, "isBegun" | "orderedBefore">
): MemberCopy => {
  if (Result.isFailure(answer)) return { _tag: "Unknown", ...answer.failure }
  const problem = known.problems.get(cluster)
  const found = answer.success.find(({ copy }) => keyOf(copy) === key)?.copy.status
  if (found !== undefined) {
    const { failure_message: message, phase } = found
    const isCarriedOut = orderedBefore.get(key)?.has(cluster) === true || problem?.isFinal === true
    if (phase === "Failed" && !isBegun && !isCarriedOut)
      return { _tag: "Absent", problem: message ?? "its copy has failed" }
    return { _tag: "Present", state: { phase, ...(message === undefined ? {} : { message }) } }
  }
  if (problem === undefined) return { _tag: "Absent" }
  return problem.isFinal ? { _tag: "Refused", why: problem.why } : { _tag: "Absent", problem: problem.why }
}

/** Judges a copy of the default cluster by what all clusters have answered. */
const judged = (
  { known: all, options }: State,
  { answers, defaultCluster, isBegun = false, orderedBefore }: Found,
  ordered: OrderedCopy,
  now: number
): Judged => {
  const { copy } = ordered
  const key = keyOf(copy)
  const known = all.get(key) ?? {
    user: ordered.order.owner.k8sUsername,
    shown: copy,
    seenAt: now,
    readySince: undefined,
    problems: new Map(),
    ordered: new Set(),
    placed: undefined
  }
  all.set(key, known)
  known.seenAt = now
  const { failure_message: message, phase } = copy.status
  known.readySince = phase === "Ready" ? (known.readySince ?? now) : undefined
  const others = new Map(
    [...answers].flatMap(([cluster, answer]) =>
      cluster === defaultCluster
        ? []
        : [[cluster, memberCopy(known, cluster, answer, { isBegun, key, orderedBefore })] as const]
    )
  )
  const plan = fleetCopyPlan(
    {
      defaultCluster,
      atDefault: { phase, ...(message === undefined ? {} : { message }) },
      others,
      readySince: known.readySince,
      sessionStart: options.sessionStart,
      splitsQueues: splitsQueues(copy.metadata.namespace, copy.spec)
    },
    now
  )
  known.shown = fleetCopyTarget(copy, plan.state)
  return { ordered, known, plan }
}

/** Asks all clusters; fails without the default's answer, without which nothing is known of any copy. */
const find = Effect.fnUntraced(function* (
  state: State,
  namespace?: string,
  name?: string
): Effect.fn.Return<Found, ApiError> {
  const { clusters, primary } = state.options
  const orderedBefore = new Map([...state.known].map(([key, { ordered }]) => [key, ordered]))
  const answers = yield* askClusters(clusters(), { primary, namespace, name })
  const defaultCluster = defaultOf(state)?.name
  const answer = defaultCluster === undefined ? undefined : answers.get(defaultCluster)
  if (defaultCluster === undefined || answer === undefined) return yield* noDefault
  if (Result.isSuccess(answer)) return { answers, defaultCluster, copies: answer.success, orderedBefore }
  return yield* internalError(
    `The copies of targets in the default cluster ${defaultCluster} are not known: ${answer.failure.why}. Try ` +
      "again in a moment."
  )
})

const orderFrom = (
  { known, ordered: { copy } }: Judged,
  { order, request }: Placed,
  cluster: ReachedCluster
): Effect.Effect<CallEnd> =>
  Effect.matchEffect(orderCopy(cluster, order, copy.metadata.namespace, request), {
    onSuccess: () =>
      Effect.sync(() => {
        known.problems.delete(cluster.name)
        known.ordered = new Set([...known.ordered, cluster.name])
      }),
    onFailure: (error) => {
      known.problems.set(cluster.name, { why: error.detail, isFinal: isRefusal(error) })
      return logWarning("cluster makes no copy", { copy: keyOf(copy), cluster: cluster.name, problem: error.detail })
    }
  }).pipe(Effect.as("Done"))

/** Orders the copies that are missing, without waiting for them. */
const orderMissing = ({ calls, options }: State, copy: Judged, placed: Placed): void => {
  for (const cluster of options.clusters().filter(({ name }) => copy.plan.order.includes(name)))
    calls.begin(`${keyOf(copy.ordered.copy)} ${cluster.name}`, orderFrom(copy, placed, cluster))
}

/**
 * The order that the other clusters get. An earlier process's is known only from the default cluster, where others may
 * have written it: it counts once its user asks for the copy, and may have it by their rights here.
 */
const placedFor = (state: State, { known, ordered }: Judged, caller: Caller): Effect.Effect<Placed | undefined> =>
  Effect.gen(function* () {
    if (known.placed !== undefined) return known.placed
    const { copy, order } = ordered
    const { namespace } = copy.metadata
    if (order.owner.k8sUsername !== caller.user) return undefined
    const { awaited, permitted } = state.options
    const request = yield* Effect.fromResult(readCopyRequest({ spec: copy.spec }))
    yield* mayCopy(awaited, { caller, namespace }, request)
    yield* permitted({ namespace, ...request })
    known.placed = { order, request }
    return known.placed
  }).pipe(Effect.catch(() => Effect.undefined))

/** Looks at all copies, and forgets those that are gone. */
const lookAtAll = Effect.fnUntraced(function* (state: State): Effect.fn.Return<ReadonlyArray<Judged>, ApiError> {
  // A copy that is made while the clusters answer is in no answer.
  const before = [...state.known.keys()]
  const found = yield* find(state)
  const now = yield* Clock.currentTimeMillis
  const keys = new Set(found.copies.map(({ copy }) => keyOf(copy)))
  for (const key of before) if (!keys.has(key)) state.known.delete(key)
  return found.copies.map((ordered) => judged(state, found, ordered, now))
})

/** Forgets copies whose default cluster is away for long. They are learnt again from it when it is back. */
const forgetUnseen = (state: State): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    for (const [key, { seenAt }] of state.known) if (now >= seenAt + forgetAfter) state.known.delete(key)
  })

/** Looks again and again as long as there are copies. */
const keepLooking = Effect.fnUntraced(function* (state: State): Effect.fn.Return<CallEnd> {
  while (state.known.size > 0) {
    yield* Effect.sleep(lookEvery)
    yield* lookAtAll(state).pipe(
      Effect.asVoid,
      Effect.catch(() => forgetUnseen(state))
    )
  }
  return "Done" as const
})

/** Begins to look at the copies that are known by now. */
const follow = (state: State): void => state.calls.begin("all copies", keepLooking(state))

/** One copy, which is used by that, and carried on. */
const judgedOne = Effect.fnUntraced(function* (
  state: State,
  { caller, isBegun, name, namespace }: Pick<CopyConnect, "caller" | "name" | "namespace"> & Pick<Found, "isBegun">
): Effect.fn.Return<Judged, ApiError> {
  const found = { ...(yield* find(state, namespace, name)), isBegun }
  const ordered = found.copies.find(({ copy }) => keyOf(copy) === `${namespace}/${name}`)
  if (ordered === undefined) {
    state.known.delete(`${namespace}/${name}`)
    return yield* noSuchCopy(namespace, name)
  }
  const copy = judged(state, found, ordered, yield* Clock.currentTimeMillis)
  const placed = copy.plan.order.length === 0 ? undefined : yield* placedFor(state, copy, caller)
  if (placed !== undefined) orderMissing(state, copy, placed)
  follow(state)
  return copy
})

/** While the default cluster does not answer, its copy is as it was; a lost cluster's has failed. */
const shownMeanwhile = (
  state: State,
  namespace: string,
  name: string,
  problem: ApiError
): Effect.Effect<CopyTarget, ApiError> => {
  const shown = state.known.get(`${namespace}/${name}`)?.shown
  if (shown === undefined || problem.code === 404) return Effect.fail(problem)
  const lost = defaultOf(state)?.lost()
  return Effect.succeed(
    lost === undefined ? shown : fleetCopyTarget(shown, { phase: "Failed", message: problem.message })
  )
}

/** The copy's pod as the target of its sessions. `container`: the one that the user named. */
const podTarget = (name: string, container?: string): string =>
  formatTargetName({ _tag: "Workload", kind: "pod", name, container })

/** A session that has begun keeps the target that it has, if that is the copy. */
const sessionTarget = (begun: CopyConnect["begun"], name: string, container?: string): string => {
  const pod = podTarget(name)
  const its = begun?.target
  return its !== undefined && (its === pod || its.startsWith(`${pod}.container.`)) ? its : podTarget(name, container)
}

/** The target that was copied; `undefined` if it is not known. */
const copiedOf = (copy: CopyTarget | undefined): Target | undefined =>
  copy === undefined ? undefined : Result.getOrUndefined(parseTargetJson(copy.spec["target"]))

const connected = Effect.fnUntraced(function* (
  state: State,
  { begun, caller, name, namespace, owner }: CopyConnect
): Effect.fn.Return<ConnectedCopy, ApiError> {
  const found = yield* Effect.result(judgedOne(state, { namespace, name, caller, isBegun: begun !== undefined }))
  if (Result.isFailure(found)) {
    // The session itself knows whether it can go on; its owner and its target are checked there.
    if (begun === undefined) return yield* found.failure
    const of = copiedOf(state.known.get(`${namespace}/${name}`)?.shown)
    return { target: sessionTarget(begun, name), scaledown: false, of, leftOut: new Map() }
  }
  const { known, ordered, plan } = found.success
  if ((known.placed?.order ?? ordered.order).owner.userId !== owner.userId)
    return yield* forbidden(
      `The copy target ${name} belongs to another user; start the command again to get a copy of your own.`
    )
  const of = known.placed?.request.target ?? copiedOf(ordered.copy)
  return {
    target: sessionTarget(begun, name, of !== undefined && "container" in of ? of.container : undefined),
    of,
    splits: splitsOfSession(ordered.copy.spec, ordered.order.container),
    scaledown: ordered.copy.spec["scale_down"] === true,
    leftOut: new Map(plan.leftOut.map(({ cluster, why }) => [cluster, noCopyText(why)]))
  }
})

/** The refusal of the default cluster, in whose words the client is refused. */
const refusedBy = (cluster: ClusterName, { code, detail, reason }: KubeError): ApiError => {
  const message = `In the default cluster ${cluster}: ${detail}`
  if (code === 400 || code === 422) return badRequest(message)
  if (code === 403 || code === 404 || code === 409)
    return new ApiError({ code, reason: reason === "Other" ? "Conflict" : reason, message })
  return internalError(message)
}

/** A request for a copy that could be read. */
interface Wanted {
  readonly asked: CopyTargetRequest
  readonly owner: SessionOwner
  readonly request: CopyRequest
}

/** The copy that the same user has asked for already, as in a single cluster. */
const isSame = ({ ordered: { copy, order }, plan }: Judged, { owner, request }: Wanted): boolean =>
  request.scaleDown &&
  order.owner.userId === owner.userId &&
  plan.state.phase !== "Failed" &&
  jsonEqual(copy.spec, request.sent)

/** Makes the copy. `id`: of the session that it is made for. */
const makeCopy = Effect.fnUntraced(function* (
  state: State,
  wanted: Wanted,
  id: SessionId
): Effect.fn.Return<CopyTarget, ApiError> {
  const { asked, owner, request } = wanted
  const { namespace } = asked
  const cluster = defaultOf(state)
  if (cluster === undefined) return yield* noDefault
  const order: CopyOrder = { primary: state.options.primary, session: sessionIdHex(id), owner }
  // First there, and elsewhere only then: the copy is there as long as the default cluster's is.
  const ordered = yield* Effect.mapError(orderCopy(cluster, order, namespace, request), (error) =>
    refusedBy(cluster.name, error)
  )
  const answers = new Map<ClusterName, Answer>(state.options.clusters().map(({ name }) => [name, Result.succeed([])]))
  const found = { answers, defaultCluster: cluster.name, copies: [ordered], orderedBefore: new Map() }
  const copy = judged(state, found, ordered, yield* Clock.currentTimeMillis)
  copy.known.placed = { order, request }
  orderMissing(state, copy, copy.known.placed)
  follow(state)
  const clusters = state.options.clusters().map(({ name }) => name)
  yield* auditCopied(wanted, id, ordered.copy.metadata.name, clusters)
  return copy.known.shown
})

const newCopy = Effect.fnUntraced(function* (state: State, wanted: Wanted): Effect.fn.Return<CopyTarget, ApiError> {
  const { asked, owner, request } = wanted
  const id = yield* newSessionId
  const name = copyName(request.target.name, sessionIdName(id))
  const copy = { namespace: asked.namespace, name, user: owner.k8sUsername }
  const there = (): ReadonlyArray<CountedCopy> =>
    [...state.known.values()].map(({ shown: { metadata }, user }) => ({ ...metadata, user }))
  return yield* state.options.inPlace({ copy, there }, makeCopy(state, wanted, id))
})

const createWanted = Effect.fnUntraced(function* (
  state: State,
  wanted: Wanted
): Effect.fn.Return<CopyTarget, ApiError> {
  const { awaited, permitted, splits } = state.options
  const { asked, request } = wanted
  // Whether the workload has such queues is known in the clusters, whose operators check it.
  yield* splitOfCopy(splits, "MultiCluster", asked.namespace, request)
  yield* mayCopy(awaited, asked, request)
  yield* permitted({ namespace: asked.namespace, ...request })
  const all = yield* lookAtAll(state)
  follow(state)
  const earlier = all.find((copy) => copy.ordered.copy.metadata.namespace === asked.namespace && isSame(copy, wanted))
  if (earlier !== undefined) {
    const { name, namespace } = earlier.ordered.copy.metadata
    return sharedCopyTarget((yield* judgedOne(state, { namespace, name, caller: asked.caller })).known.shown)
  }
  return yield* newCopy(state, wanted)
})

const create = (state: State, asked: CopyTargetRequest, owner: SessionOwner): Effect.Effect<CopyTarget, ApiError> =>
  inItsTurn(state.options.inTurn, asked, (request) => createWanted(state, { asked, owner, request }))

const list = Effect.fnUntraced(function* (
  state: State,
  { namespace }: CopySelection
): Effect.fn.Return<ReadonlyArray<CopyTarget>, ApiError> {
  const found = yield* find(state, namespace)
  const now = yield* Clock.currentTimeMillis
  const all = found.copies.map((ordered) => judged(state, found, ordered, now).known.shown)
  follow(state)
  return all
})

export const makeFleetCopies = Effect.fnUntraced(function* (
  options: FleetCopiesOptions
): Effect.fn.Return<FleetCopies, never, Scope.Scope> {
  const known = new Map<string, Known>()
  yield* countHolding("copies over many clusters", () => known.size)
  const state: State = { options, known, calls: yield* makeBackgroundCalls }
  return {
    create: (asked, owner) => create(state, asked, owner),
    list: (selection) => list(state, selection),
    get: (namespace, name, caller) =>
      judgedOne(state, { namespace, name, caller }).pipe(
        Effect.map((copy) => copy.known.shown),
        Effect.catch((problem) => shownMeanwhile(state, namespace, name, problem))
      ),
    connect: (session) => connected(state, session),
    status: () => [...known.values()].map(({ shown }) => ({ pod_name: shown.metadata.name, copy_target: shown }))
  }
})

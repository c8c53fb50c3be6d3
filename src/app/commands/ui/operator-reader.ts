/**
 * Asks clusters for the API of `braid ui` with the person's own kubeconfig: the operator's sessions, namespaces, and
 * who the person is there, each of the context that a request names.
 *
 * Not here: the routes (session-api.ts), and the form of the answers (domain/commands/ui/operator-answer.ts).
 */

import { Clock, Effect, PubSub, RcMap, RcRef, Result, type Scope, Stream, SubscriptionRef } from "effect"
import {
  type OperatorAnswer,
  operatorAnswer,
  type OperatorNotice,
  operatorNotices
} from "../../../domain/commands/ui/operator-answer.ts"
import { asString, at } from "../../../domain/json.ts"
import { namespaces } from "../../../domain/resources/core-kinds.ts"
import { mirrordOperators } from "../../../domain/resources/mirrord-operator.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"
import { chosenCluster, chosenConfig, unanswered, type Unanswered } from "../overview/ask-cluster.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"

/** Pause between two looks at the watched operator, ms. */
const lookEvery = 5_000
/** How long it is watched after the last request, ms: readers ask every four seconds. */
const askedFor = 10_000
/** How long a cluster's connections are kept, ms. */
const keptFor = 60_000
/** Most news that a reader may leave unread; the oldest are dropped then. */
const maxNews = 256

/** Why a cluster cannot be asked, and whose fault it is: the request's, the kubeconfig's or the cluster's. */
export interface Unread extends Unanswered {
  readonly status: 400 | 500 | 502
}

/** How the watched operator stands, as readers want it. */
export type WatchStatus =
  | { readonly status: "watching" }
  | { readonly status: "error"; readonly message: string }
  | { readonly status: "unavailable"; readonly reason: string }

export interface WatchedOperator {
  readonly answer: OperatorAnswer | undefined
  readonly status: WatchStatus
}

/** A context is one of the kubeconfig; `undefined` for the one that `braid ui` was started with. */
export interface OperatorReader {
  readonly contexts: Effect.Effect<
    {
      readonly current: string
      readonly contexts: ReadonlyArray<{ readonly name: string; readonly namespace: string | null }>
    },
    Unread
  >
  readonly operator: (context: string | undefined) => Effect.Effect<OperatorAnswer, Unread>
  readonly namespaces: (context: string | undefined) => Effect.Effect<ReadonlyArray<string>, Unread>
  readonly user: (context: string | undefined) => Effect.Effect<string | null, Unread>
  /** The operator of the context of the start, as of the last look. */
  readonly watched: Effect.Effect<WatchedOperator>
  /** News of that operator's sessions; it is asked as long as a program listens. */
  readonly notices: Stream.Stream<OperatorNotice>
}

const selfSubjectReviews = {
  group: "authentication.k8s.io",
  version: "v1",
  plural: "selfsubjectreviews",
  scope: "Cluster"
} as const

const selfSubjectReview = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }

/** Asks a cluster by its context; its connections are kept for the next request, and not after a failure. */
const makeAsk = Effect.fnUntraced(function* (choice: KubeConfigChoice) {
  const apis = yield* RcMap.make({
    lookup: (context: string | undefined) => chosenCluster({ ...choice, context }),
    idleTimeToLive: keptFor
  })
  return <A>(
    wanted: string | undefined,
    object: string,
    asked: (api: KubeApi) => Effect.Effect<A, KubeError>
  ): Effect.Effect<A, Unread> =>
    Effect.gen(function* () {
      const context = wanted ?? choice.context
      const status = wanted === undefined ? 500 : 400
      const api = yield* Effect.mapError(RcMap.get(apis, context), (problem): Unread => ({ ...problem, status }))
      return yield* Effect.mapError(asked(api), (error): Unread => ({ ...unanswered(error, object), status: 502 }))
    }).pipe(
      Effect.scoped,
      Effect.tapError(() => RcMap.invalidate(apis, wanted ?? choice.context))
    )
})

/** Looks at the operator as long as a program asks, and a little longer. */
const watch = Effect.fnUntraced(function* (
  read: Effect.Effect<OperatorAnswer, Unread>
): Effect.fn.Return<Pick<OperatorReader, "watched" | "notices">, never, Scope.Scope> {
  const told = yield* PubSub.sliding<OperatorNotice>(maxNews)
  const state = yield* SubscriptionRef.make<WatchedOperator | undefined>(undefined)
  const look = Effect.gen(function* () {
    const before = (yield* SubscriptionRef.get(state))?.answer
    const found = yield* Effect.result(read)
    if (Result.isFailure(found)) {
      const text = `${found.failure.message} ${found.failure.fix}`
      const status: WatchStatus =
        before === undefined ? { status: "unavailable", reason: text } : { status: "error", message: text }
      return yield* SubscriptionRef.set(state, { answer: before, status })
    }
    const answer = found.success
    yield* SubscriptionRef.set(state, { answer, status: { status: "watching" } })
    yield* PubSub.publishAll(told, operatorNotices(before?.sessions ?? [], answer.sessions))
  })
  const looking = yield* RcRef.make({
    acquire: Effect.andThen(
      Effect.addFinalizer(() => SubscriptionRef.set(state, undefined)),
      Effect.forkScoped(Effect.forever(Effect.andThen(look, Effect.sleep(lookEvery))))
    ),
    idleTimeToLive: askedFor
  })
  const first = SubscriptionRef.changes(state).pipe(
    Stream.filter((found) => found !== undefined),
    Stream.runHead,
    Effect.flatMap(Effect.fromOption),
    Effect.orDie
  )
  return {
    watched: Effect.scoped(Effect.andThen(RcRef.get(looking), first)),
    notices: Stream.unwrap(
      Effect.andThen(PubSub.subscribe(told), (news) => Effect.as(RcRef.get(looking), Stream.fromSubscription(news)))
    )
  }
})

/** Reads for a person until the scope ends. */
export const makeOperatorReader = Effect.fnUntraced(function* (
  choice: KubeConfigChoice
): Effect.fn.Return<OperatorReader, never, Scope.Scope> {
  const ask = yield* makeAsk(choice)
  const operator: OperatorReader["operator"] = (context) =>
    Effect.flatMap(
      ask(context, "the operator's object (mirrordoperators.operator.metalbear.co)", (api) =>
        api.get(mirrordOperators, "operator")
      ),
      (object) => Effect.map(Clock.currentTimeMillis, (now) => operatorAnswer(object, now))
    )
  return {
    contexts: Effect.map(
      Effect.mapError(chosenConfig(choice), (problem): Unread => ({ ...problem, status: 500 })),
      (config) => ({
        current: config.getCurrentContext(),
        contexts: config.getContexts().map(({ name, namespace }) => ({ name, namespace: namespace ?? null }))
      })
    ),
    operator,
    namespaces: (context) =>
      Effect.map(
        ask(context, "namespaces", (api) => api.list(namespaces)),
        ({ items }) => items.map(({ metadata }) => metadata.name)
      ),
    user: (context) =>
      Effect.map(
        ask(context, "your own name", (api) => api.create(selfSubjectReviews, selfSubjectReview)),
        (review) => asString(at(review, "status", "userInfo", "username")) ?? null
      ),
    ...(yield* watch(operator(undefined)))
  }
})

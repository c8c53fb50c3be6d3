import { Context, Effect, Layer } from "effect"
import { ApiError } from "../../../src/app/api/status.ts"
import { type ChangeFeed, Changes } from "../../../src/app/kernel/change-feed.ts"
import { noSplits, QueueSplits } from "../../../src/app/queues/queue-splits.ts"
import { type Capability, withCapability } from "../../../src/app/services/capability.ts"
import { OwnCluster } from "../../../src/app/services/own-cluster.ts"
import type { ServedSqsSession } from "../../../src/domain/queues/sqs-session.ts"
import type { WantedSplit } from "../../../src/domain/queues/wanted-split.ts"
import { splitsQueues } from "../../../src/domain/sessions/names.ts"
import { met, type Requirement } from "../../../src/domain/sessions/requirement.ts"

const pending = { _tag: "Pending", message: "The pods get other queues.", comesFirst: true } as const

/** Splits of one cluster in memory, in place of their controller. */
export class MemorySplits {
  /** The calls, in order. */
  readonly log: Array<string> = []
  /** The wishes that were ordered, by session. They outlive an operator. */
  readonly orders = new Map<string, WantedSplit>()
  readonly variables = new Map([["ORDERS", "tmp-orders"]])
  /** The parts of sessions in splits, as lists show them. */
  readonly shown = new Map<string, ServedSqsSession>()
  /** The answers to checks and orders. */
  isThere: boolean | ApiError = true
  refusal: ApiError | undefined
  #ordered: Requirement = pending
  #feed: ChangeFeed | undefined

  /** All splits that were ordered are this far from now on. */
  become(requirement: Requirement): void {
    this.#ordered = requirement
    for (const session of this.orders.keys()) this.#feed?.publish({ _tag: "ChildChanged", session })
  }

  readonly #requirement: NonNullable<Capability["requirement"]> = ({ metadata }) => {
    if (this.orders.has(metadata.name)) return this.#ordered
    return splitsQueues(metadata) ? pending : met
  }

  readonly #service: QueueSplits["Service"] = {
    ...noSplits,
    areServed: () => true,
    check: ({ workload }) => {
      this.log.push(`check ${workload.name}`)
      return this.isThere instanceof ApiError ? Effect.fail(this.isThere) : Effect.succeed(this.isThere)
    },
    order: ({ metadata: { name } }, wanted) => {
      this.log.push(`order ${name}`)
      if (this.refusal !== undefined) return Effect.fail(this.refusal)
      this.orders.set(name, wanted)
      return Effect.void
    },
    requirement: this.#requirement,
    shown: () => this.shown,
    variables: (session) => (this.orders.has(session) ? this.variables : new Map())
  }

  /** The operator of one cluster has these splits; others pass on what is asked for. */
  readonly layer = (cluster: string) =>
    Layer.effectContext(
      Effect.gen({ self: this }, function* () {
        const isHere = (yield* OwnCluster).api.cluster === cluster
        if (isHere) this.#feed = yield* Changes
        const capability = yield* withCapability(isHere ? { requirement: this.#requirement } : {})
        return Context.add(capability, QueueSplits, isHere ? this.#service : { ...noSplits, areServed: () => true })
      })
    )
}

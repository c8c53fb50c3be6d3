/**
 * A user's request for a copy of a target, as the real client makes it (operator-api.md §9.2): it looks for a copy of
 * its own, else asks for a new one, and waits until the copy is ready. Connecting to it is in `sim-client.ts`.
 */

import { Effect, Result } from "effect"
import type { OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import type { ApiError } from "../../../src/app/api/status.ts"
import { jsonEqual } from "../../../src/domain/json.ts"
import type { CopyTarget } from "../../../src/domain/resources/copy-target.ts"
import type { SimProcess } from "../kernel/sim-process.ts"
import { userCertificate, userIdOf } from "./credentials.ts"
import type { OperatorHost, Refusal } from "./operator-host.ts"
import type { PipeEnd } from "./pipe.ts"
import type { WorkloadPlan } from "./sim-kubelet.ts"

/** The copy that a user wants. `idleTtl`: seconds that it lives without a session. */
export interface CopyWish extends Pick<WorkloadPlan, "kind" | "name"> {
  readonly scaleDown: boolean
  readonly idleTtl: number
}

/** A copy that is ready. */
export interface ReadyCopy {
  readonly name: string
  /** Undefined: the client makes an id by itself. */
  readonly sessionId: bigint | undefined
  /** It was there before the user asked. */
  readonly isReused: boolean
}

export interface CopyAsker {
  readonly from: PipeEnd & { readonly process: SimProcess }
  readonly operator: OperatorHost
  readonly user: string
  readonly namespace: string
  readonly wish: CopyWish
  /** Whether a copy may be used again that is there. */
  readonly mayReuse: boolean
  /** Whether the user has gone. */
  readonly isOver: () => boolean
  /** Tells how far the copy is, each time that the client has asked. */
  readonly told: (copy: CopyTarget) => void
}

export interface CopyOutcome {
  readonly ready: (copy: ReadyCopy) => void
  readonly refused: (refusal: Refusal) => void
}

/** Time between two looks at a copy that is not ready, ms. */
const lookEvery = 5_000
/** A call without an answer of the operator is repeated, as by the real client, ms. */
const repeatAfter = 1_000
const maxRepeats = 5
const repeatedCodes: ReadonlySet<number | undefined> = new Set([429, 503, 504])

const targetKeys = { deployment: "deployment", statefulset: "stateful_set", job: "job", cronjob: "cron_job" } as const

const specOf = ({ idleTtl, kind, name, scaleDown }: CopyWish): object => ({
  target: { [targetKeys[kind]]: name, container: null },
  idle_ttl: idleTtl,
  scale_down: scaleDown,
  split_queues: null,
  exclude_containers: [],
  exclude_init_containers: []
})

type Use<A> = (facade: OperatorFacade["Service"]) => Effect.Effect<A, ApiError>

/** Gets a copy for a user. Either part of the outcome is called at most once, and none after the user has gone. */
export const obtainCopy = (asker: CopyAsker, outcome: CopyOutcome): void => {
  const { from, isOver, namespace, operator, told, user, wish } = asker
  const spec = specOf(wish)
  const caller = { user, groups: ["developers"], extra: {} }

  const call = <A>(use: Use<A>, then: (answer: A) => void, repeats = maxRepeats): void => {
    if (isOver()) return
    operator.request(from, use, (result) => {
      if (isOver()) return
      if (Result.isSuccess(result)) return then(result.success)
      if (!repeatedCodes.has(result.failure.code) || repeats === 0) return outcome.refused(result.failure)
      from.process.after(repeatAfter, () => call(use, then, repeats - 1))
    })
  }

  const follow = (copy: CopyTarget, isReused: boolean): void => {
    const { metadata, status } = copy
    told(copy)
    switch (status.phase) {
      case "Ready": {
        const id = isReused ? undefined : (status.creator_session.id ?? undefined)
        const sessionId = id === undefined ? undefined : BigInt(`0x${id}`)
        return outcome.ready({ name: metadata.name, sessionId, isReused })
      }
      case "Failed":
        return outcome.refused({ code: undefined, reason: "Failed", message: status.failure_message ?? "no reason" })
      case "InProgress":
        return void from.process.after(lookEvery, () =>
          call(
            (facade) => facade.copyTarget(namespace, metadata.name, caller),
            (again) =>
              follow(
                {
                  ...(again as CopyTarget),
                  status: { ...(again as CopyTarget).status, creator_session: status.creator_session }
                },
                isReused
              )
          )
        )
    }
  }

  const post = (): void =>
    call(
      (facade) =>
        facade.createCopyTarget({
          caller,
          namespace,
          body: { metadata: { name: `${wish.kind}.${wish.name}` }, spec },
          certificate: userCertificate(user),
          clientName: user,
          clientHostname: from.place
        }),
      (made) => follow(made as CopyTarget, false)
    )

  if (!asker.mayReuse) return post()
  call(
    (facade) => facade.listCopyTargets({ namespace: namespace }),
    (all) => {
      const own = (all as ReadonlyArray<CopyTarget>).find(
        ({ spec: found, status }) =>
          status.phase !== "Failed" && status.creator_session.user_id === userIdOf(user) && jsonEqual(found, spec)
      )
      if (own === undefined) post()
      else follow(own, true)
    }
  )
}

/**
 * Policies as a capability of every operator: tells the sessions which limits hold for them, and refuses those that may
 * not be. The relay enforces the limits on messages.
 */

import { Effect, Result, type Scope } from "effect"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { profileProblem } from "../../domain/policy/incoming-rules.ts"
import { mustKnowLineage, policiesFor, type SessionPolicies } from "../../domain/policy/session-policies.ts"
import { type Resource, targetResource } from "../../domain/policy/target-pattern.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { Capability, LimitedSession, SessionLimits } from "../api/capability.ts"
import { type ApiError, forbidden, internalError } from "../api/status.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { type KnownPolicies, makeKnownPolicies } from "./known-policies.ts"
import { readLineage } from "./lineage.ts"

/** The parts of the operator that this capability builds on. */
export interface PolicyGround {
  readonly api: KubeApi
  /** The fleet that this operator is the primary of, if it has one. */
  readonly fleet: FleetConfiguration | undefined
}

/** The policies of one session, which are asked for again when any policy has changed. */
interface Asked {
  readonly known: KnownPolicies
  /** Where the target's owners are read; `undefined`: this cluster has no workloads. */
  readonly api: KubeApi | undefined
  readonly session: LimitedSession
  /** The target's owners, once they were needed. They are read once: a session keeps the policies of its start. */
  lineage: ReadonlyArray<Resource> | undefined
}

const lineageOf = (asked: Asked): Effect.Effect<ReadonlyArray<Resource>, ApiError> => {
  const { api, lineage, session } = asked
  if (lineage !== undefined) return Effect.succeed(lineage)
  if (api === undefined) return Effect.succeed([targetResource(session.target)])
  return readLineage(api, session.namespace, session.target).pipe(
    Effect.tap((read) => Effect.sync(() => (asked.lineage = read))),
    Effect.mapError((error) => {
      const why = error._tag === "KubeError" ? error.detail : error.message
      return internalError(
        `It cannot be told which mirrord policies hold for this target: ${why}. Try again in a moment.`
      )
    })
  )
}

/** The policies that hold now; fails if the session may not be, or if that cannot be told. */
const policiesNow = (asked: Asked): Effect.Effect<SessionPolicies, ApiError> =>
  Effect.gen(function* () {
    const { known, session } = asked
    const { containers, namespace, profile, target, tellsAgentVariables } = session
    const all = known.inNamespace(namespace)
    if (Result.isFailure(all))
      return yield* forbidden(`${all.failure} Until it is put right, nobody may start a session that it may concern.`)
    const lineage = mustKnowLineage(all.success, namespace) ? yield* lineageOf(asked) : [targetResource(target)]
    const found = policiesFor(all.success, { namespace, lineage, containers }, tellsAgentVariables)
    const problem = profileProblem(found.policies, profile)
    return problem === undefined ? found : yield* forbidden(problem)
  })

/** Pause before it is looked again which policies hold for a running session, after that could not be told. */
const lookAgainAfter = "15 seconds"

/**
 * Completes when other policies hold. While that cannot be told, a session keeps the policies that it has: the next
 * connect will be refused with the reason. An API server that did not answer is asked again. A policy that cannot be
 * used is waited for until it changes.
 */
const outdated = (asked: Asked, before: SessionPolicies, seen: number): Effect.Effect<{ readonly reason: string }> =>
  Effect.gen(function* () {
    let last = seen
    let isUnknown = false
    for (;;) {
      const changed = asked.known.changedAfter(last)
      last = yield* isUnknown ? Effect.raceFirst(changed, Effect.as(Effect.sleep(lookAgainAfter), last)) : changed
      const now = yield* Effect.result(policiesNow(asked))
      isUnknown = Result.isFailure(now) && now.failure.code !== 403
      const isOther = Result.isSuccess(now) ? now.success.text !== before.text : isProfileRefused(asked, now.failure)
      if (isOther) return { reason: "The mirrord policies of the session's target have changed." }
    }
  })

/** Whether it is the session's profile that is refused, and not a policy that is unreadable. */
const isProfileRefused = ({ known, session }: Asked, { code }: ApiError): boolean =>
  code === 403 && Result.isSuccess(known.inNamespace(session.namespace))

const limitsOf = (asked: Asked): Effect.Effect<SessionLimits, ApiError> =>
  Effect.gen(function* () {
    const seen = asked.known.changes()
    const policies = yield* policiesNow(asked)
    return { policies, outdated: outdated(asked, policies, seen) }
  })

export const makePolicyCapability = ({ api, fleet }: PolicyGround): Effect.Effect<Capability, never, Scope.Scope> =>
  Effect.map(makeKnownPolicies(api), (known) => {
    const reading = fleet?.managementOnly === true ? undefined : retryingApi(api)
    return {
      problems: known.problems,
      started: known.started,
      limits: (session) => Effect.suspend(() => limitsOf({ known, api: reading, session, lineage: undefined }))
    }
  })

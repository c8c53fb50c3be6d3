/**
 * Policies as a capability of every operator: tells the sessions which limits hold for them, and refuses those that may
 * not be. The relay enforces the limits on messages.
 */

import { Effect, Result, type Scope } from "effect"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { profileProblem } from "../../domain/policy/incoming-rules.ts"
import type { PolicyRules } from "../../domain/policy/policy-rules.ts"
import {
  mustKnowLineage,
  policiesFor,
  scaleDownProblem,
  type SessionPolicies
} from "../../domain/policy/session-policies.ts"
import { type PolicySubject, targetResource } from "../../domain/policy/target-pattern.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { Capability, LimitedSession, SessionLimits, WantedCopy } from "../api/capability.ts"
import { type ApiError, forbidden, internalError } from "../api/status.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { type KnownPolicies, makeKnownPolicies } from "./known-policies.ts"
import { readCopied, readLineage } from "./lineage.ts"

/** The parts of the operator that this capability builds on. */
export interface PolicyGround {
  readonly api: KubeApi
  /** The fleet that this operator is the primary of, if it has one. */
  readonly fleet: FleetConfiguration | undefined
}

/** A session's target as policies see it; of a session on a copy the copied target. */
type Subject = Pick<PolicySubject, "copy" | "lineage">

/** The policies of one session, which are asked for again when any policy has changed. */
interface Asked {
  readonly known: KnownPolicies
  /** Where the target's owners are read; `undefined`: this cluster has no workloads. */
  readonly api: KubeApi | undefined
  readonly session: LimitedSession
  /** The target with its owners, once needed. They are read once: a session keeps the policies of its start. */
  read: Subject | undefined
}

/** Reads a target and what owns it. A pod that is no copy's is a target like any other, whatever the session says. */
const readSubject = (api: KubeApi, { copy, namespace, target }: LimitedSession) =>
  Effect.gen(function* () {
    const pod = target._tag === "Workload" ? target.name : ""
    const copied = copy === undefined ? "NoCopy" : (copy.of ?? (yield* readCopied(api, namespace, pod)))
    if (copied === "NoCopy") return { lineage: yield* readLineage(api, namespace, target) }
    return { copy, lineage: copied && (yield* readLineage(api, namespace, copied)) }
  })

/** The target for these policies, read as far as it matters to them. */
const subjectOf = (asked: Asked, all: ReadonlyArray<PolicyRules>): Effect.Effect<Subject, ApiError> => {
  const { api, read, session } = asked
  if (read !== undefined) return Effect.succeed(read)
  const { copy, namespace, target } = session
  const isNamed = copy === undefined || copy.of !== undefined
  const isEnough = isNamed ? !mustKnowLineage(all, namespace) : all.length === 0
  if (api === undefined || isEnough)
    return Effect.succeed({ copy, lineage: isNamed ? [targetResource(copy?.of ?? target)] : undefined })
  return readSubject(api, session).pipe(
    Effect.tap((found) => Effect.sync(() => (asked.read = found))),
    Effect.mapError((error) => {
      const why = error._tag === "KubeError" ? error.detail : error.message
      return internalError(
        `It cannot be told which mirrord policies hold for this target: ${why}. Try again in a moment.`
      )
    })
  )
}

/** The policies of a target's namespace, and the target as they see it. */
interface Told {
  readonly all: ReadonlyArray<PolicyRules>
  readonly subject: PolicySubject
}

/** The policies of a target's namespace, if all can be read and none forbids what its copy does. */
const toldOf = (asked: Asked): Effect.Effect<Told, ApiError> =>
  Effect.gen(function* () {
    const { containers, namespace } = asked.session
    const all = asked.known.inNamespace(namespace)
    if (Result.isFailure(all))
      return yield* forbidden(`${all.failure} Until it is put right, nobody may start a session that it may concern.`)
    const subject = { namespace, containers, ...(yield* subjectOf(asked, all.success)) }
    const problem = scaleDownProblem(all.success, subject)
    return problem === undefined ? { all: all.success, subject } : yield* forbidden(problem)
  })

/** The policies that hold now; fails if the session may not be, or if that cannot be told. */
const policiesNow = (asked: Asked): Effect.Effect<SessionPolicies, ApiError> =>
  Effect.gen(function* () {
    const { profile, tellsAgentVariables } = asked.session
    const { all, subject } = yield* toldOf(asked)
    const found = policiesFor(all, subject, tellsAgentVariables)
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
      const isOther = Result.isSuccess(now) ? now.success.text !== before.text : isRefused(asked, now.failure)
      if (isOther) return { reason: "The mirrord policies of the session's target have changed." }
    }
  })

/** Whether it is the session that is refused, for its profile or its copy, and not a policy that is unreadable. */
const isRefused = ({ known, session }: Asked, { code }: ApiError): boolean =>
  code === 403 && Result.isSuccess(known.inNamespace(session.namespace))

const limitsOf = (asked: Asked): Effect.Effect<SessionLimits, ApiError> =>
  Effect.gen(function* () {
    const seen = asked.known.changes()
    const policies = yield* policiesNow(asked)
    return { policies, outdated: outdated(asked, policies, seen) }
  })

/** A copy that is to be made, as its session will be. Only that one has a profile. */
const ofCopy = ({ namespace, scaleDown, target }: WantedCopy): LimitedSession => ({
  namespace,
  target,
  containers: undefined,
  profile: undefined,
  copy: { scaledown: scaleDown, of: target }
})

export const makePolicyCapability = ({ api, fleet }: PolicyGround): Effect.Effect<Capability, never, Scope.Scope> =>
  Effect.map(makeKnownPolicies(api), (known) => {
    const reading = fleet?.managementOnly === true ? undefined : retryingApi(api)
    const ask = (session: LimitedSession): Asked => ({ known, api: reading, session, read: undefined })
    return {
      problems: known.problems,
      started: known.started,
      limits: (session) => Effect.suspend(() => limitsOf(ask(session))),
      permitCopy: (copy) => Effect.suspend(() => Effect.asVoid(toldOf(ask(ofCopy(copy)))))
    }
  })

/**
 * Policies as a capability of every operator: gives the sessions the limits that hold for them and at each of their
 * pods, and refuses those that may not be. The relay enforces the limits on messages.
 */

import { Context, Effect, Layer, Result } from "effect"
import { profileProblem } from "../../domain/policies/incoming-rules.ts"
import { policiesOfPod } from "../../domain/policies/pod-policies.ts"
import type { PolicyRules } from "../../domain/policies/policy-rules.ts"
import {
  mustKnowLineage,
  policiesFor,
  scaleDownProblem,
  type SessionPolicies
} from "../../domain/policies/session-policies.ts"
import { type PolicySubject, type Resource, targetResource } from "../../domain/policies/target-pattern.ts"
import type { UnreadableResource } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { type ApiError, forbidden, internalError } from "../api/status.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { withCapability } from "../services/capability.ts"
import { OwnCluster } from "../services/own-cluster.ts"
import {
  type HeldLimits,
  type LimitedPod,
  type LimitedSession,
  SessionLimits,
  type WantedCopy
} from "../services/session-limits.ts"
import { type KnownPolicies, makeKnownPolicies } from "./known-policies.ts"
import { type Lineages, makeLineages, readCopied } from "./lineage.ts"

/** A session's target as policies see it; of a session on a copy the copied target. */
type Subject = Pick<PolicySubject, "copy" | "lineage">

/** The policies of one session, which are asked for again when any policy has changed. */
interface Asked {
  readonly known: KnownPolicies
  /** Where the target and its pods are read; `undefined` if this cluster has no workloads. */
  readonly workloads: { readonly api: KubeApi; readonly lineages: Lineages } | undefined
  readonly session: LimitedSession
  /** The target with its owners, once needed. They are read once: a session keeps the policies of its start. */
  read: Subject | undefined
}

/** Reads a target and what owns it. A pod that is no copy's is a target like any other, whatever the session says. */
const readSubject = Effect.fnUntraced(function* (
  { api, lineages }: NonNullable<Asked["workloads"]>,
  { copy, namespace, target }: LimitedSession
) {
  const pod = target._tag === "Workload" ? target.name : ""
  const copied = copy === undefined ? "NoCopy" : (copy.of ?? (yield* readCopied(api, namespace, pod)))
  if (copied === "NoCopy") return { lineage: yield* lineages.ofTarget(target) }
  return { copy, lineage: copied && (yield* lineages.ofTarget(copied)) }
})

const cannotTell = <A>(reading: Effect.Effect<A, KubeError | UnreadableResource>): Effect.Effect<A, ApiError> =>
  Effect.mapError(reading, (error) => {
    const why = error._tag === "KubeError" ? error.detail : error.message
    return internalError(
      `It cannot be told which mirrord policies hold for this target: ${why}. Try again in a moment.`
    )
  })

/** The target for these policies, read as far as it matters to them. */
const subjectOf = (asked: Asked, all: ReadonlyArray<PolicyRules>): Effect.Effect<Subject, ApiError> => {
  const { read, session, workloads } = asked
  if (read !== undefined) return Effect.succeed(read)
  const { copy, namespace, target } = session
  const isNamed = copy === undefined || copy.of !== undefined
  const isEnough = isNamed ? !mustKnowLineage(all, namespace) : all.length === 0
  if (workloads === undefined || isEnough)
    return Effect.succeed({ copy, lineage: isNamed ? [targetResource(copy?.of ?? target)] : undefined })
  return cannotTell(readSubject(workloads, session)).pipe(
    Effect.tap((found) => Effect.sync(() => (asked.read = found)))
  )
}

/** Pods and what owns them, for these policies. A pod that is the target itself, or a copy of it, is in the subject. */
const podLineage = (
  { session: { namespace, target }, workloads }: Asked,
  all: ReadonlyArray<PolicyRules>,
  pods: ReadonlyArray<LimitedPod>
): Effect.Effect<ReadonlyArray<Resource>, ApiError> => {
  const isTarget = target._tag === "Workload" && target.kind === "pod"
  if (workloads === undefined || isTarget) return Effect.succeed([])
  return mustKnowLineage(all, namespace)
    ? cannotTell(workloads.lineages.ofPods(pods))
    : Effect.succeed(pods.map(({ podLabels, podName }) => ({ kind: "pod", name: podName, labels: podLabels })))
}

/** All policies of the session's namespace, if they can be read. */
const allOf = ({ known, session }: Asked): Effect.Effect<ReadonlyArray<PolicyRules>, ApiError> => {
  const all = known.inNamespace(session.namespace)
  return Result.isSuccess(all)
    ? Effect.succeed(all.success)
    : forbidden(`${all.failure} Until it is put right, no session may start that it may concern.`)
}

/** The policies of a target's namespace and the target as they see it, unless one is unreadable or forbids its copy. */
const toldOf = Effect.fnUntraced(function* (asked: Asked) {
  const { containers, namespace, pods } = asked.session
  const all = yield* allOf(asked)
  const { copy, lineage } = yield* subjectOf(asked, all)
  const environment = yield* podLineage(asked, all, pods?.().slice(0, 1) ?? [])
  const subject = { namespace, containers, copy, lineage: lineage && [...lineage, ...environment] }
  const problem = scaleDownProblem(all, subject)
  return problem === undefined ? { all, subject } : yield* forbidden(problem)
})

/** The policies that hold now; fails if the session may not be, or if that cannot be found out. */
const policiesNow = Effect.fnUntraced(function* (asked: Asked) {
  const { profile, tellsAgentVariables } = asked.session
  const told = yield* toldOf(asked)
  const policies = policiesFor(told.all, told.subject, tellsAgentVariables)
  const problem = profileProblem(policies.policies, profile)
  return problem === undefined ? { ...told, policies } : yield* forbidden(problem)
})

/** The policies of a pod that hold for traffic there, beside those of the session. */
const policiesAt = Effect.fnUntraced(function* (asked: Asked, held: SessionPolicies, pod: LimitedPod) {
  const { namespace, profile } = asked.session
  const all = yield* allOf(asked)
  const lineage = yield* podLineage(asked, all, [pod])
  const found = policiesOfPod(all, { namespace, lineage, containers: [pod.containerName] }, held)
  const problem = profileProblem(found, profile)
  return problem === undefined ? found : yield* forbidden(problem)
})

/** The policies that hold now, and whether others than before hold for the target or any of its pods. */
const lookAgain = Effect.fnUntraced(function* (asked: Asked, before: ReadonlyArray<PolicyRules>) {
  const { all, subject } = yield* policiesNow(asked)
  const pods = yield* podLineage(asked, [...before, ...all], asked.session.pods?.() ?? [])
  const watched = { ...subject, lineage: subject.lineage && [...subject.lineage, ...pods] }
  return { all, isOther: policiesFor(before, watched).text !== policiesFor(all, watched).text }
})

/** Pause before the policies of a running session are read again, after they could not be found out. */
const lookAgainAfter = "15 seconds"

/**
 * Completes when other policies hold. While that cannot be found out, a session keeps the policies that it has: the
 * next connect will be refused with the reason. An API server that did not answer is asked again. A policy that cannot
 * be used is waited for until it changes.
 */
const outdated = Effect.fnUntraced(function* (asked: Asked, first: ReadonlyArray<PolicyRules>, seen: number) {
  let last = seen
  let before = first
  let isUnknown = false
  for (;;) {
    const changed = asked.known.changedAfter(last)
    last = yield* isUnknown ? Effect.raceFirst(changed, Effect.as(Effect.sleep(lookAgainAfter), last)) : changed
    const now = yield* Effect.result(lookAgain(asked, before))
    isUnknown = Result.isFailure(now) && now.failure.code !== 403
    const isOther = Result.isSuccess(now) ? now.success.isOther : isRefused(asked, now.failure)
    if (Result.isSuccess(now)) before = now.success.all
    if (isOther) return { reason: "The mirrord policies of the session's target have changed." }
  }
})

/** Whether it is the session that is refused, for its profile or its copy, and not a policy that is unreadable. */
const isRefused = ({ known, session }: Asked, { code }: ApiError): boolean =>
  code === 403 && Result.isSuccess(known.inNamespace(session.namespace))

const limitsOf = Effect.fnUntraced(function* (asked: Asked): Effect.fn.Return<HeldLimits, ApiError> {
  const seen = asked.known.changes()
  const { all, policies } = yield* policiesNow(asked)
  return { policies, outdated: outdated(asked, all, seen), atPod: (pod) => policiesAt(asked, policies, pod) }
})

/** A copy that is to be made, as its session will be. Only a session has a profile. */
const ofCopy = ({ namespace, scaleDown, target }: WantedCopy): LimitedSession => ({
  namespace,
  target,
  containers: undefined,
  profile: undefined,
  copy: { scaledown: scaleDown, of: target }
})

/** The limits of sessions and copies by the policies of this cluster. */
export const policyLayer = Layer.effectContext(
  Effect.gen(function* () {
    const { api, fleet } = yield* OwnCluster
    const known = yield* makeKnownPolicies(api)
    const reading = fleet?.managementOnly === true ? undefined : retryingApi(api)
    const asked = (session: LimitedSession): Asked => ({
      known,
      workloads: reading && { api: reading, lineages: makeLineages(reading, session.namespace) },
      session,
      read: undefined
    })
    const capability = yield* withCapability({ problems: known.problems, started: known.started })
    return Context.add(capability, SessionLimits, {
      ask: (session) => Effect.suspend(() => limitsOf(asked(session))),
      permitCopy: (copy) => Effect.suspend(() => Effect.asVoid(toldOf(asked(ofCopy(copy)))))
    })
  })
)

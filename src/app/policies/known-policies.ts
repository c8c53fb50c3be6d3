/**
 * The policies of this cluster, kept by list and watch and compiled once each.
 *
 * Not here: which of them apply to a session (session-limits.ts).
 */

import { Effect, Result, type Scope } from "effect"
import { type PolicyRules, readPolicy } from "../../domain/policy/policy-rules.ts"
import {
  mirrordClusterPolicies,
  mirrordPolicies,
  type Policy
} from "../../domain/resources/policies/mirrord-policies.ts"
import { readResource, type ResourceDescriptor } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeObject } from "../../ports/kube-api.ts"
import { logError } from "../kernel/log.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"

type Compiled = Result.Result<PolicyRules, string>

export interface KnownPolicies {
  /** The policies that may apply in a namespace; the failure says which of them cannot be used, and why. */
  readonly inNamespace: (namespace: string) => Result.Result<ReadonlyArray<PolicyRules>, string>
  /** Why it is not known which policies there are, one sentence each. */
  readonly problems: () => ReadonlyArray<string>
  readonly started: Effect.Effect<void>
  /** Completes at the next change after the one with this number; its own number is the result. */
  readonly changedAfter: (number: number) => Effect.Effect<number>
  /** The number of the last change. */
  readonly changes: () => number
}

const titleOf = ({ kind }: ResourceDescriptor<Policy>, { metadata: { name, namespace } }: KubeObject): string =>
  `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`

const compile = (resource: ResourceDescriptor<Policy>, object: KubeObject): Compiled => {
  const compiled = Result.flatMap(
    Result.mapError(readResource(resource, object), ({ message }) => message),
    (policy) => readPolicy(policy, object)
  )
  return Result.mapError(compiled, (problem) => `${titleOf(resource, object)} cannot be enforced: ${problem}`)
}

/** Reasons for which a list that was read before does not count any more: nobody tells of changes. */
const isRefused = ({ problem }: Reflector): boolean => {
  const reason = problem()?.reason
  return reason === "Forbidden" || reason === "NotFound"
}

const problemOf = (resource: ResourceDescriptor<Policy>, reflector: Reflector): ReadonlyArray<string> => {
  if (reflector.synced() && !isRefused(reflector)) return []
  const why = reflector.problem()?.detail
  return [`The objects of kind ${resource.kind} cannot be read${why === undefined ? " yet" : `: ${why}`}.`]
}

/** Both kinds, as they are read. */
const sources = [mirrordClusterPolicies, mirrordPolicies] as const

export const makeKnownPolicies = (api: KubeApi): Effect.Effect<KnownPolicies, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const compiled = new WeakMap<KubeObject, Compiled>()
    const listeners = new Set<() => void>()
    let changes = 0
    const rulesOf = (resource: ResourceDescriptor<Policy>, object: KubeObject): Compiled => {
      const before = compiled.get(object)
      if (before !== undefined) return before
      const rules = compile(resource, object)
      compiled.set(object, rules)
      return rules
    }
    const follow = (resource: ResourceDescriptor<Policy>) =>
      makeReflector(api, resource, (object, deleted) => {
        const rules = deleted ? undefined : rulesOf(resource, object)
        if (rules !== undefined && Result.isFailure(rules))
          Effect.runForkWith(context)(logError("sessions are refused", { problem: rules.failure }))
        changes++
        for (const listener of [...listeners]) listener()
      })
    const reflectors = yield* Effect.forEach(sources, (resource) =>
      Effect.map(follow(resource), (reflector) => ({ resource, reflector }))
    )
    return {
      inNamespace: (namespace) =>
        Result.all(
          reflectors.flatMap(({ reflector, resource }) =>
            reflector
              .all()
              .filter(({ metadata }) => metadata.namespace === undefined || metadata.namespace === namespace)
              .map((object) => rulesOf(resource, object))
          )
        ),
      problems: () => reflectors.flatMap(({ reflector, resource }) => problemOf(resource, reflector)),
      started: Effect.forEach(reflectors, ({ reflector }) => reflector.awaitSynced, { discard: true }),
      changes: () => changes,
      changedAfter: (number) =>
        Effect.callback<number>((resume) => {
          const check = (): void => {
            if (changes === number) return
            listeners.delete(check)
            resume(Effect.succeed(changes))
          }
          listeners.add(check)
          check()
          return Effect.sync(() => listeners.delete(check))
        })
    }
  })

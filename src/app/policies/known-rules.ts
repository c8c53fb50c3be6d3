/**
 * The rules that administrators of this cluster have written for targets, kept by list and watch and read once each:
 * policies, or TLS configurations.
 *
 * Not here: which of them apply to a session (policy-capability.ts, tls-capability.ts).
 */

import { Effect, type Scope } from "effect"
import type { ResourceDescriptor, WatchedResource } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeObject } from "../../ports/kube-api.ts"
import { logError } from "../kernel/log.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"

/** Two kinds that hold the same rules, one of them for a namespace. */
export interface RuleSource<T, Rules> {
  readonly kinds: ReadonlyArray<WatchedResource<T>>
  readonly read: (kind: ResourceDescriptor<T>, object: KubeObject) => Rules
  /** Why an object cannot be used, if it cannot. */
  readonly problem: (rules: Rules) => string | undefined
}

export interface KnownRules<Rules> {
  /** The rules that may apply in a namespace. */
  readonly inNamespace: (namespace: string) => ReadonlyArray<Rules>
  /** Why it is not known which rules there are, one sentence each. */
  readonly problems: () => ReadonlyArray<string>
  /** Completes when it is known which rules there are, so without {@link problems}. */
  readonly started: Effect.Effect<void>
  /** Completes at the next change after the one with this number; its own number is the result. */
  readonly changedAfter: (number: number) => Effect.Effect<number>
  /** The number of the last change. */
  readonly changes: () => number
}

/** Kind, namespace and name of an object, for sentences. */
export const titleOf = (
  { kind }: Pick<ResourceDescriptor<unknown>, "kind">,
  { metadata: { name, namespace } }: KubeObject
): string => `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`

/**
 * Pause between two checks whether the rules are known. An API server that has just started refuses everything until it
 * has read its roles, so that a list which was read before may be refused for some seconds.
 */
const lookAgainAfter = "250 millis"

/** Reasons for which a list that was read before does not count any more: no watch reports changes. */
const isRefused = ({ problem }: Reflector): boolean => {
  const reason = problem()?.reason
  return reason === "Forbidden" || reason === "NotFound"
}

const problemOf = (
  { kind }: Pick<ResourceDescriptor<unknown>, "kind">,
  reflector: Reflector
): ReadonlyArray<string> => {
  if (reflector.synced() && !isRefused(reflector)) return []
  const why = reflector.problem()?.detail
  return [`The objects of kind ${kind} cannot be read${why === undefined ? " yet" : `: ${why}`}.`]
}

export const makeKnownRules = Effect.fnUntraced(function* <T, Rules extends object>(
  api: KubeApi,
  source: RuleSource<T, Rules>
): Effect.fn.Return<KnownRules<Rules>, never, Scope.Scope> {
  const context = yield* Effect.context<never>()
  const read = new WeakMap<KubeObject, Rules>()
  const listeners = new Set<() => void>()
  let changes = 0
  const rulesOf = (kind: ResourceDescriptor<T>, object: KubeObject): Rules => {
    const before = read.get(object)
    if (before !== undefined) return before
    const rules = source.read(kind, object)
    read.set(object, rules)
    return rules
  }
  const follow = (kind: WatchedResource<T>) =>
    makeReflector(api, kind, (object, deleted) => {
      const problem = deleted ? undefined : source.problem(rulesOf(kind, object))
      if (problem !== undefined) Effect.runForkWith(context)(logError("sessions are refused", { problem }))
      changes++
      for (const listener of [...listeners]) listener()
    })
  const reflectors = yield* Effect.forEach(source.kinds, (kind) =>
    Effect.map(follow(kind), (reflector) => ({ kind, reflector }))
  )
  const problems = (): ReadonlyArray<string> => reflectors.flatMap(({ kind, reflector }) => problemOf(kind, reflector))
  const known: Effect.Effect<void> = Effect.suspend(() =>
    problems().length === 0 ? Effect.void : Effect.andThen(Effect.sleep(lookAgainAfter), known)
  )
  return {
    inNamespace: (namespace) =>
      reflectors.flatMap(({ kind, reflector }) =>
        reflector
          .all()
          .filter(({ metadata }) => metadata.namespace === undefined || metadata.namespace === namespace)
          .map((object) => rulesOf(kind, object))
      ),
    problems,
    started: known,
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

/**
 * The policies of this cluster.
 *
 * Not here: which of them apply to a session (policy-capability.ts).
 */

import { Effect, Result, type Scope } from "effect"
import { type PolicyRules, readPolicy } from "../../domain/policies/policy-rules.ts"
import {
  mirrordClusterPolicies,
  mirrordPolicies,
  type Policy
} from "../../domain/resources/policies/mirrord-policies.ts"
import { readResource, type ResourceDescriptor } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeObject } from "../../ports/kube-api.ts"
import { type KnownRules, makeKnownRules, titleOf } from "./known-rules.ts"

type Compiled = Result.Result<PolicyRules, string>

export interface KnownPolicies extends Omit<KnownRules<Compiled>, "inNamespace"> {
  /** The policies that may apply in a namespace; the failure says which of them cannot be used, and why. */
  readonly inNamespace: (namespace: string) => Result.Result<ReadonlyArray<PolicyRules>, string>
}

const compile = (resource: ResourceDescriptor<Policy>, object: KubeObject): Compiled => {
  const compiled = Result.flatMap(
    Result.mapError(readResource(resource, object), ({ message }) => message),
    (policy) => readPolicy(policy, object)
  )
  return Result.mapError(compiled, (problem) => `${titleOf(resource, object)} cannot be enforced: ${problem}`)
}

export const makeKnownPolicies = (api: KubeApi): Effect.Effect<KnownPolicies, never, Scope.Scope> =>
  Effect.map(
    makeKnownRules(api, {
      kinds: [mirrordClusterPolicies, mirrordPolicies],
      read: compile,
      problem: (compiled) => (Result.isFailure(compiled) ? compiled.failure : undefined)
    }),
    (known) => ({ ...known, inNamespace: (namespace) => Result.all(known.inNamespace(namespace)) })
  )

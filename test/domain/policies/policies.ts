import * as Result from "effect/Result"
import * as fc from "fast-check"
import { type PolicyRules, readPolicy } from "../../../src/domain/policies/policy-rules.ts"
import { mirrordPolicies } from "../../../src/domain/resources/policies/mirrord-policies.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"

/** A policy as the API server has it, or the reason why it cannot be enforced. */
export const tryPolicy = (spec: object, name = "p", namespace?: string): Result.Result<PolicyRules, string> => {
  const raw = { metadata: { name, ...(namespace === undefined ? {} : { namespace }) }, spec: { block: [], ...spec } }
  const read = readResource(mirrordPolicies, raw)
  return Result.isFailure(read) ? Result.fail(read.failure.message) : readPolicy(read.success, raw)
}

export const policy = (spec: object, name = "p", namespace?: string): PolicyRules =>
  Result.getOrThrowWith(tryPolicy(spec, name, namespace), (problem) => new Error(problem))

const some = <A>(...values: ReadonlyArray<A>): fc.Arbitrary<ReadonlyArray<A>> =>
  fc.subarray([...values], { minLength: 0, maxLength: 2 })

const rule = fc.constantFrom<object>(
  {},
  { hostname: "^db\\." },
  { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } },
  { ports: [{ port: 443, protocol: "TCP" }] },
  { hostname: "example", ports: [{ port: 53, protocol: "UDP" }] }
)

/** Policies that limit anything that policies can limit. */
export const anyPolicy: fc.Arbitrary<PolicyRules> = fc
  .record({
    name: fc.constantFrom("a", "b", "c", "d"),
    appliesToCopyTargets: fc.boolean(),
    block: some("steal", "steal-without-filter", "mirror", "copy-target-scale-down"),
    exclude: some("DB_*", "SECRET", "?"),
    local: some("^/home", "\\.local$"),
    notFound: some("^/etc/secret", "key"),
    readOnly: some("^/var", "\\.txt$"),
    headerFilter: fc.option(fc.constantFrom("^x-user: .+", "session")),
    allow: fc.array(rule, { maxLength: 2 }),
    blocked: fc.array(rule, { maxLength: 2 })
  })
  .map(({ allow, appliesToCopyTargets, block, blocked, exclude, headerFilter, local, name, notFound, readOnly }) =>
    policy(
      {
        block,
        appliesToCopyTargets,
        env: { exclude },
        fs: { local, notFound, readOnly },
        network: { incoming: { httpFilter: { headerFilter } }, outgoing: { allow, block: blocked } }
      },
      name
    )
  )

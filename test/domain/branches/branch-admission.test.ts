import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { admittedBranch, type BranchRules } from "../../../src/domain/branches/branch-admission.ts"
import { readEngineSettings } from "../../../src/domain/branches/branch-settings.ts"
import type { BranchDatabase } from "../../../src/domain/resources/branches/branch-database.ts"
import { protectedNamespaces } from "../../../src/domain/targets/protected-namespaces.ts"
import { bareBranchSpec } from "../../support/branch-spec.ts"

const rules: BranchRules = {
  settings: { pg: readEngineSettings("pg", { _tag: "Absent" }, {}) },
  protectedNamespaces: protectedNamespaces({ operator: "mirrord", agents: "mirrord", allowed: [] })
}
const branch = (metadata: object): BranchDatabase => ({
  metadata: { name: "b", namespace: "shop", ...metadata },
  spec: { ...bareBranchSpec, postgresOptions: {} }
})
const refusal = (metadata: object) => Result.getOrThrow(Result.flip(admittedBranch(rules, branch(metadata))))

describe("a branch", () => {
  it("is made where its engine is switched on", () => {
    const admitted = Result.getOrThrow(admittedBranch(rules, branch({})))
    expect(admitted.request.engine).toBe("pg")
  })

  it("is made with the profile that it names, if there is one", () => {
    const dbPod = { image: { registry: "own" }, allowedImages: [] }
    const value = { profiles: { small: { dbPod }, large: {} } }
    const settings = { pg: readEngineSettings("pg", { _tag: "Parsed", value }, {}) }
    const admitted = (more: object, known = settings) =>
      admittedBranch({ ...rules, settings: known }, { ...branch({}), spec: { ...branch({}).spec, ...more } })
    const small = Result.getOrThrow(admitted({ profile: "small" }))
    expect(small.settings.pod.repository).toBe("own")
    expect(Result.getOrThrow(admitted({})).settings.pod.repository).toBeUndefined()
    expect(Result.getOrThrow(Result.flip(admitted({ profile: "small", image: "x" })))).toContain("may name no image")
    expect(Result.getOrThrow(Result.flip(admitted({ profile: "tiny" })))).toBe(
      'spec.profile is "tiny", which this cluster does not have: there are "small", "large".'
    )
    const none = { pg: readEngineSettings("pg", { _tag: "Absent" }, {}) }
    expect(Result.getOrThrow(Result.flip(admitted({ profile: "tiny" }, none)))).toContain("there are none.")
  })

  it("has migrations in an image that may run", () => {
    const value = { dbPod: { allowedImages: ["registry.example.com/*"] } }
    const settings = { pg: readEngineSettings("pg", { _tag: "Parsed", value }, {}) }
    const admitted = (migrations: { readonly flavor: "container" | "flyway"; readonly [field: string]: string }) => {
      const { spec } = branch({})
      return admittedBranch({ ...rules, settings }, { ...branch({}), spec: { ...spec, databaseName: "a", migrations } })
    }
    expect(Result.isSuccess(admitted({ flavor: "flyway", archive: "aGk=" }))).toBe(true)
    expect(Result.isSuccess(admitted({ flavor: "container", image: "registry.example.com/app:1" }))).toBe(true)
    expect(Result.getOrThrow(Result.flip(admitted({ flavor: "flyway", archive: "aGk=", image: "x" })))).toBe(
      'spec.migrations.image is "x", which this operator does not allow: allowed are "registry.example.com/*".'
    )
  })

  it("is of an image of its engine's own repositories, where administrators list none", () => {
    const { spec } = branch({})
    const problem = (change: object, dbPod: object = {}) => {
      const settings = { pg: readEngineSettings("pg", { _tag: "Parsed", value: { dbPod } }, {}) }
      const found = admittedBranch(
        { ...rules, settings },
        { ...branch({}), spec: { ...spec, databaseName: "a", ...change } }
      )
      return Result.isSuccess(found) ? undefined : found.failure
    }
    const digest = `sha256:${"0".repeat(64)}`
    for (const tag of ["", ":16", `@${digest}`, `:16@${digest}`])
      expect(problem({ image: `docker.io/library/postgres${tag}` })).toBeUndefined()
    expect(problem({ image: "docker.io/library/postgres-evil:1" })).toBe(
      'spec.image is "docker.io/library/postgres-evil:1", which this operator does not allow: allowed are ' +
        '"docker.io/library/postgres", "docker.io/library/postgres:*", "docker.io/library/postgres@*".'
    )
    const own = { image: { registry: "registry.example.com/pg" } }
    expect(problem({ image: "registry.example.com/pg:1" })).toContain("does not allow")
    expect(problem({ image: "registry.example.com/pg:1" }, own)).toBeUndefined()
    const migrations = (image: string) => ({ migrations: { flavor: "container", image } })
    expect(problem(migrations("docker.io/flyway/flyway:11"))).toBeUndefined()
    expect(problem(migrations("docker.io/library/postgres:17"))).toBeUndefined()
    expect(problem(migrations("docker.io/library/mysql:8"))).toContain("spec.migrations.image is")
    expect(problem({ image: "evil.io/x" }, { allowedImages: ["*"] })).toBeUndefined()
  })

  it("is made in no protected namespace", () => {
    expect(refusal({ namespace: "mirrord" })).toBe(
      "The branch is refused: targets in namespace mirrord are refused, since the operator runs there; name a " +
        "workload of another namespace, or have mirrord added to the chart's value targets.allowedNamespaces in " +
        "that cluster."
    )
  })

  it("is made in its own namespace alone", () => {
    const annotations = (name: string) => ({ annotations: { "mirrord.metalbear.co/target-namespace": name } })
    expect(Result.isSuccess(admittedBranch(rules, branch(annotations("shop"))))).toBe(true)
    expect(refusal(annotations("other"))).toBe(
      "The annotation mirrord.metalbear.co/target-namespace names another namespace than shop, in which the branch " +
        "would be made: make the branch in the target's own namespace."
    )
  })
})

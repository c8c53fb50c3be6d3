import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { admittedBranch } from "../../../src/domain/branches/branch-admission.ts"
import { readEngineSettings } from "../../../src/domain/branches/branch-settings.ts"
import { engines } from "../../../src/domain/branches/engines.ts"
import { branchEngines } from "../../../src/domain/resources/chart-switches.ts"
import { protectedNamespaces } from "../../../src/domain/targets/protected-namespaces.ts"
import { bareBranchSpec } from "../../support/branch-spec.ts"

const served = branchEngines.filter((engine) => engines[engine].dialect !== undefined)
const settings = Object.fromEntries(
  served.map((engine) => [
    engine,
    readEngineSettings(engine, { _tag: "Parsed", value: { dbPod: { acceptEula: true } } }, {})
  ])
)
const rules = { settings, protectedNamespaces: protectedNamespaces({ operator: "m", agents: "m", allowed: [] }) }

/** Where a part comes from: a value of the user's own, or the target. */
const sources = {
  own: { secret: { name: "mirrord-branch-values-1", key: "K", env_var_name: "K" } },
  variable: { env: { container: null, variable: "V" } },
  map: { envFrom: { container: null, variable: "V" } },
  secret: { secret: { name: "app", key: "k" } }
} as const
const kinds = ["own", "variable", "map", "secret"] as const
type Kind = (typeof kinds)[number]

const admitted = (engine: (typeof served)[number], params: object) =>
  admittedBranch(rules, {
    metadata: { name: "b", namespace: "shop" },
    spec: { ...bareBranchSpec, connectionSource: { params }, [engines[engine].block]: {} }
  })

describe("the parts of a connection", () => {
  it("never lead a value of the target's to a server of the user's choice, whatever the engine", () => {
    const kind = fc.constantFrom(...kinds)
    const part = fc.option(fc.array(kind, { minLength: 1, maxLength: 2 }), { nil: undefined })
    const parts = fc.record({ host: fc.tuple(kind), port: part, user: part, password: part, database: part })
    fc.assert(
      fc.property(fc.constantFrom(...served), parts, (engine, chosen) => {
        const lists = Object.entries(chosen).flatMap(([name, all]) => (all === undefined ? [] : [[name, all] as const]))
        const params = Object.fromEntries(lists.map(([name, all]) => [name, all.map((one) => sources[one])]))
        const first = (name: keyof typeof chosen): Kind | undefined => chosen[name]?.[0]
        const isOwnPlace = first("host") === "own" || first("port") === "own"
        const names = ["host", "port", "user", "password", "database"] as const
        const hasTargets = names.some((name) => (first(name) ?? "own") !== "own")
        expect(Result.isFailure(admitted(engine, params))).toBe(isOwnPlace && hasTargets)
      })
    )
  })

  it("are refused by the field that names the server, with what to do", () => {
    const refused = admitted("pg", { host: sources.own, user: sources.own, database: sources.secret })
    expect(Result.getOrThrow(Result.flip(refused))).toBe(
      "spec.connectionSource.params.host is a value of your own, and the database is the target's, which a server " +
        "of your choice would get: take the host from the target as well, or bring all parts as values of your own."
    )
  })

  it("have no further parameter but how the connection is secured, which may be said apart from where it leads", () =>
    expect(served.flatMap((engine) => engines[engine].extraParameters)).toEqual(["sslmode"]))
})

import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readEngineSettings } from "../../../src/domain/branch/branch-settings.ts"

const read = (value: unknown, limits = {}) => readEngineSettings("pg", { _tag: "Parsed", value }, limits)
const problem = (value: unknown) => Result.getOrThrow(Result.flip(read(value)))

describe("the file of an engine", () => {
  it("may be missing or empty", () => {
    const usual = {
      pod: { imagePullSecrets: [], labels: {}, annotations: {}, dataLimit: "1Gi", stagingLimit: "1Gi" },
      unserved: []
    }
    for (const settings of [readEngineSettings("pg", { _tag: "Absent" }, {}), read(null), read({ dbPod: null })])
      expect(Result.getOrThrow(settings)).toMatchObject(usual)
    expect(Result.getOrThrow(read({})).allowedImages).toBeUndefined()
  })

  it("says how the pods of branches are made", () => {
    const dbPod = {
      image: { registry: "registry.example.com/postgres" },
      allowedImages: ["registry.example.com/*"],
      imagePullSecrets: [{ name: "a" }, "b"],
      imagePullPolicy: "Always",
      labels: { team: "db" },
      annotations: { "sidecar.istio.io/inject": "false" },
      resources: { limits: { memory: "512Mi", cpu: 1 } },
      volume: { emptyDir: { sizeLimit: 10_000_000 } },
      migrationImages: { flyway: { registry: "registry.example.com/flyway" } },
      migrationEnv: { inherit: false, env: [{ name: "A", value: "1" }], envFrom: [{ secretRef: { name: "more" } }] }
    }
    expect(Result.getOrThrow(read({ dbPod }, { data: "5Gi", staging: "2Gi" }))).toEqual({
      pod: {
        repository: "registry.example.com/postgres",
        imagePullPolicy: "Always",
        imagePullSecrets: ["a", "b"],
        labels: { team: "db" },
        annotations: { "sidecar.istio.io/inject": "false" },
        resources: { limits: { memory: "512Mi", cpu: 1 } },
        dataLimit: "10000000",
        stagingLimit: "2Gi"
      },
      migrations: {
        repository: "registry.example.com/flyway",
        environment: {
          inherits: false,
          env: [{ name: "A", value: "1" }],
          envFrom: [{ secretRef: { name: "more" } }]
        }
      },
      allowedImages: ["registry.example.com/*"],
      unserved: []
    })
  })

  it("names what has no effect", () => {
    const dbPod = {
      initImage: { registry: "x" },
      dbServerArgs: ["-c", "a=b"],
      image: { registry: "x", tag: "1" },
      volume: { name: "data", emptyDir: {} }
    }
    expect(Result.getOrThrow(read({ dbPod, profiles: {} })).unserved).toEqual([
      "profiles",
      "dbPod.initImage",
      "dbPod.dbServerArgs",
      "dbPod.image.tag",
      "dbPod.volume.name"
    ])
  })

  it("refuses its engine's branches, and says where it is wrong", () => {
    expect(problem([])).toBe(
      "pg-branch-config.yaml: the file must hold a map (found []); write dbPod at its top level."
    )
    expect(problem({ dbPod: [] })).toContain("pg-branch-config.yaml, dbPod: it must be a map")
    expect(problem({ dbPod: { allowedImages: "*" } })).toContain("dbPod.allowedImages: it must be a list")
    expect(problem({ dbPod: { imagePullPolicy: "Sometimes" } })).toContain("Always, IfNotPresent, Never")
    expect(problem({ dbPod: { labels: { a: 1 } } })).toContain("dbPod.labels.a: it must be text")
    expect(Result.isFailure(readEngineSettings("pg", { _tag: "NotYaml", reason: "at line 1" }, {}))).toBe(true)
  })

  it("allows no image that a list of images does not name, whatever the list is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (allowedImages) => {
        const settings = read({ dbPod: { allowedImages } })
        if (allowedImages === null || Result.isFailure(settings)) return
        expect(settings.success.allowedImages).toEqual(allowedImages)
      })
    )
  })
})

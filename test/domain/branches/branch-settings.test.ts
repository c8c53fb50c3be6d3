import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readEngineSettings } from "../../../src/domain/branches/branch-settings.ts"

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
        placement: {},
        serverArguments: [],
        dataLimit: "10000000",
        stagingLimit: "2Gi"
      },
      profiles: new Map(),
      migrations: {
        repository: "registry.example.com/flyway",
        environment: { inherits: false, env: [{ name: "A", value: "1" }], envFrom: [{ secretRef: { name: "more" } }] }
      },
      allowedImages: ["registry.example.com/*"],
      unserved: []
    })
  })

  it("says where the pods are, how their server begins and where their data is", () => {
    const placement = {
      nodeSelector: { disk: "fast" },
      tolerations: [{ key: "db", operator: "Exists" }],
      affinity: { nodeAffinity: {} }
    }
    const of = (dbPod: object, limits = {}) => Result.getOrThrow(read({ dbPod }, limits)).pod
    expect(of({ ...placement, dbServerArgs: ["-c", "max_connections=5"] })).toMatchObject({
      placement,
      serverArguments: ["-c", "max_connections=5"]
    })
    const claim = (storage: string, more: object = {}) => {
      const spec = { accessModes: ["ReadWriteOnce"], ...more, resources: { requests: { storage } } }
      return { ephemeral: { volumeClaimTemplate: { spec } } }
    }
    const fast = { storageClassName: "fast", dataSize: "100Gi" }
    expect(of({ storage: fast })).toMatchObject({
      dataVolume: claim("100Gi", { storageClassName: "fast" }),
      stagingVolume: claim("20Gi", { storageClassName: "fast" })
    })
    expect(of({ storage: { kind: "pvc" } }, { data: "5Gi", staging: "2Gi" })).toMatchObject({
      dataVolume: claim("5Gi"),
      stagingVolume: claim("2Gi")
    })
    for (const pod of [of({}), of({ storage: { ...fast, kind: "emptyDir" } })])
      expect([pod.dataVolume, pod.stagingVolume]).toEqual([undefined, undefined])
    // The field for a volume itself counts before the storage of both.
    const own = { ephemeral: { volumeClaimTemplate: { spec: {} } } }
    const mixed = of({ storage: fast, volume: own, initVolume: { emptyDir: { sizeLimit: "3Gi" } } })
    expect(mixed).toMatchObject({ dataVolume: own, stagingVolume: undefined, stagingLimit: "3Gi" })
  })

  it("has profiles, each a whole one, of which only the images are inherited", () => {
    const dbPod = { image: { registry: "usual" }, labels: { a: "b" }, allowedImages: ["x.io/*"] }
    const profiles = {
      bare: {},
      small: { dbPod: { resources: { limits: { memory: "1Gi" } }, allowedImages: null } },
      open: { dbPod: { image: { registry: "own" }, allowedImages: ["*"] } },
      closed: { dbPod: { allowedImages: [] } }
    }
    const found = Result.getOrThrow(read({ dbPod, profiles }, { data: "5Gi" })).profiles
    const seen = [...found].map(([name, { allowedImages, pod }]) => [name, pod.repository, pod.labels, allowedImages])
    expect(seen).toEqual([
      ["bare", undefined, {}, ["x.io/*"]],
      ["small", undefined, {}, ["x.io/*"]],
      ["open", "own", {}, ["*"]],
      ["closed", undefined, {}, []]
    ])
    expect(found.get("small")?.pod).toMatchObject({ resources: { limits: { memory: "1Gi" } }, dataLimit: "5Gi" })
    const free = Result.getOrThrow(read({ profiles: { bare: {} } })).profiles
    expect(free.get("bare")?.allowedImages).toBeUndefined()
  })

  it("gives the target's variables to migrations of listed images alone, unless it says otherwise", () => {
    const listed = { allowedImages: ["x.io/*"] }
    const profiles = {
      bare: {},
      open: { dbPod: { migrationEnv: { inherit: true } } },
      closed: { dbPod: { migrationEnv: { inherit: false } } },
      own: { dbPod: listed }
    }
    const inherit = (value: object): ReadonlyArray<boolean> => {
      const settings = Result.getOrThrow(read(value))
      return [settings, ...settings.profiles.values()].map(({ migrations }) => migrations.environment.inherits)
    }
    expect(inherit({ profiles })).toEqual([false, false, true, false, true])
    expect(inherit({ dbPod: listed, profiles })).toEqual([true, true, true, false, true])
  })

  it("names what has no effect", () => {
    const dbPod = {
      initImage: { registry: "x" },
      tls: true,
      image: { registry: "x", tag: "1" },
      volume: { name: "data", emptyDir: {} }
    }
    const profiles = { small: { dbPod: { roles: "full" }, note: "x" }, none: {} }
    expect(Result.getOrThrow(read({ dbPod, profiles, other: 1 })).unserved).toEqual([
      "other",
      "dbPod.initImage",
      "dbPod.tls",
      "dbPod.image.tag",
      "dbPod.volume.name",
      "profiles.small.note",
      "profiles.small.dbPod.roles"
    ])
  })

  it("refuses its engine's branches, and says where it is wrong", () => {
    expect(problem([])).toBe(
      "pg-branch-config.yaml: the file must hold a map (found []); write dbPod at its top level."
    )
    expect(problem({ dbPod: [] })).toContain("pg-branch-config.yaml, dbPod: it must be a map")
    expect(problem({ dbPod: { allowedImages: "*" } })).toContain("dbPod.allowedImages: it must be a list")
    expect(problem({ dbPod: { allowedImages: ["docker.io/library/*", "*/postgres:*"] } })).toBe(
      "pg-branch-config.yaml, dbPod.allowedImages[1]: it must begin with a registry without * and ? (found " +
        '"*/postgres:*"); write for example docker.io/library/postgres:*, or * alone for all images.'
    )
    expect(problem({ profiles: { a: { dbPod: { allowedImages: ["postgres"] } } } })).toContain("profiles.a.dbPod.allow")
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

  it("is read or refused with a sentence, whatever its fields hold", () => {
    const fields = ["allowedImages", "imagePullSecrets", "labels", "annotations", "env", "image", "migrationImages"]
    const further = ["migrationEnv", "nodeSelector", "resources", "storage", "volume", "initVolume", "dbServerArgs"]
    // Neither has a text.
    const odd = fc.constantFrom({ toString: "" }, [[{ toString: null }]])
    const value = fc.oneof(odd, fc.array(odd), fc.dictionary(fc.string(), odd), fc.jsonValue())
    fc.assert(
      fc.property(fc.constantFrom(...fields, ...further), value, (field, found) => {
        Result.match(read({ dbPod: { [field]: found } }), {
          onSuccess: () => undefined,
          onFailure: (sentence) => expect(sentence).toContain("dbPod")
        })
      })
    )
  })
})

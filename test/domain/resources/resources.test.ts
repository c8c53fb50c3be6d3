import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Ajv } from "ajv"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { findCondition, withCondition } from "../../../src/domain/resources/condition.ts"
import {
  customResourceDefinitions,
  customResources
} from "../../../src/domain/resources/custom-resource-definitions.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { mirrordOperators } from "../../../src/domain/resources/mirrord-operator.ts"
import { apiVersionOf, readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import { mergePatch } from "../../../src/domain/session/merge-patch.ts"
import { publishedKinds, withField } from "../../compat/samples.ts"

const folder = new URL("../../../crds/", import.meta.url)
const owner = { userId: "u", username: "n", hostname: "h", k8sUsername: "k" }

const schemaOf = (file: string) => {
  const manifest = parse(readFileSync(new URL(file, folder), "utf8"))
  return manifest.spec.versions[0].schema.openAPIV3Schema
}

describe("crds/", () => {
  it("is what the schemas say (node scripts/generate-crds.mjs)", () => {
    for (const { file, manifest } of customResourceDefinitions()) {
      expect(parse(readFileSync(new URL(file, folder), "utf8"))).toEqual(manifest)
    }
    const script = fileURLToPath(new URL("../scripts/generate-crds.mjs", folder))
    expect(execFileSync(process.execPath, [script, "--check"], { encoding: "utf8" })).toContain("up to date")
  })

  it("has names, versions, scope, columns and flags as published", () => {
    const published = publishedKinds.map((kind) => ({
      file: `${kind.plural}.yaml`,
      installedWith: kind.installedWith,
      name: `${kind.plural}.${kind.group}`,
      kind: kind.kind,
      singular: kind.kind.toLowerCase(),
      shortNames: kind.shortNames,
      scope: kind.scope,
      versions: [kind.version],
      status: kind.status,
      columns: kind.columns.map(([name, jsonPath]) => ({ name, jsonPath }))
    }))
    const ours = customResourceDefinitions().map(({ file, installedWith, manifest }, index) => {
      const { metadata, spec } = parse(JSON.stringify(manifest))
      const [version] = spec.versions
      return {
        file,
        installedWith,
        name: metadata.name,
        kind: spec.names.kind,
        singular: spec.names.singular,
        shortNames: spec.names.shortNames ?? [],
        scope: spec.scope,
        versions: spec.versions.map(({ name }: { name: string }) => name),
        status: version.subresources?.status !== undefined,
        // Ours may follow.
        columns: (version.additionalPrinterColumns ?? [])
          .slice(0, published[index]?.columns.length)
          .map(({ name, jsonPath }: { name: string; jsonPath: string }) => ({ name, jsonPath }))
      }
    })
    expect(ours).toEqual(published)
    expect(ours).toHaveLength(25)
    expect(readdirSync(folder).toSorted()).toEqual(ours.map(({ file }) => file).toSorted())
  })

  it("demands and allows null exactly where the published ones do", () => {
    const parent = schemaOf("mirrordmulticlustersessions.yaml").properties
    expect(parent.spec.required).toEqual(["owner", "namespace", "targetAlias", "clusters", "primaryCluster"])
    expect(parent.status.required).toBeUndefined()
    expect(JSON.stringify(parent)).not.toContain("nullable")
    expect(parent.status.properties.clusterSessions.additionalProperties.required).toEqual(["sessionName", "ready"])
    const child = schemaOf("mirrordclustersessions.yaml").properties
    expect(child.spec.required).toEqual(["namespace", "owner"])
    expect(child.status.nullable).toBe(true)
    expect(child.spec.properties.target).toMatchObject({
      nullable: true,
      type: "object",
      required: ["apiVersion", "kind", "name", "container"]
    })
  })

  it("is structural: a type wherever something is checked, no references, no open objects beside properties", () => {
    const banned = ["$ref", "anyOf", "allOf", "$schema", "const", "x-exactly-one"]
    const isAnything = (schema: Record<string, unknown>): boolean =>
      schema["x-kubernetes-int-or-string"] === true ||
      (schema["x-kubernetes-preserve-unknown-fields"] === true && !("properties" in schema))
    const onlyRequires = (alternatives: unknown): ReadonlyArray<string> =>
      (Array.isArray(alternatives) ? alternatives : [undefined]).flatMap((one) =>
        Object.keys(one ?? {}).join() === "required" ? [] : ["oneOf says more than what is required"]
      )
    const problems = (node: unknown, path: string): ReadonlyArray<string> => {
      if (typeof node !== "object" || node === null) return []
      const schema: Record<string, unknown> = { ...node }
      const children: ReadonlyArray<readonly [string, unknown]> = [
        ...Object.entries(schema["properties"] ?? {}),
        ["[]", schema["items"]],
        ["{}", schema["additionalProperties"]]
      ]
      return [
        ...(typeof schema["type"] === "string" || isAnything(schema) ? [] : [`${path} has no type`]),
        ...banned.filter((key) => key in schema && !isAnything(schema)).map((key) => `${path} has ${key}`),
        ...("enum" in schema && schema["nullable"] === true
          ? [`${path} refuses null where it says that it may be`]
          : []),
        ...("oneOf" in schema ? onlyRequires(schema["oneOf"]) : []).map((problem) => `${path}: ${problem}`),
        ...("properties" in schema && "additionalProperties" in schema ? [`${path} is open`] : []),
        ...children.flatMap(([name, child]) => problems(child, `${path}.${name}`))
      ]
    }
    expect(customResourceDefinitions().flatMap(({ file }) => problems(schemaOf(file), file))).toEqual([])
  })

  it("describes every kind, its spec and its status", () => {
    const undescribed = customResourceDefinitions().flatMap(({ file }) => {
      const { description, properties } = schemaOf(file)
      return [description, ...Object.values(properties).map((part) => Object(part).description)].includes(undefined)
        ? [file]
        : []
    })
    expect(undescribed).toEqual([])
  })

  it("keeps unknown fields everywhere in what clients create, and nowhere else except where published", () => {
    const lossy = (node: unknown, path: string): ReadonlyArray<string> => {
      const { additionalProperties, items, properties, ...schema }: Record<string, unknown> = { ...Object(node) }
      const own = properties !== undefined && schema["x-kubernetes-preserve-unknown-fields"] !== true ? [path] : []
      const children = [
        ...Object.entries(properties ?? {}),
        ["[]", items] as const,
        ["{}", additionalProperties] as const
      ]
      return [
        ...own,
        ...children
          .filter(([, child]) => child !== undefined)
          .flatMap(([name, child]) => lossy(child, `${path}.${name}`))
      ]
    }
    const clients = [
      "branchdatabases",
      "pgbranchdatabases",
      "mysqlbranchdatabases",
      "mongodbbranchdatabases",
      "previewsessions"
    ]
    for (const { file } of customResourceDefinitions()) {
      const paths = lossy(schemaOf(file).properties.spec, "spec")
      if (clients.includes(file.replace(".yaml", ""))) expect(paths).toEqual([])
      else expect(paths).toContain("spec")
    }
    expect(JSON.stringify(schemaOf("mirrordprofiles.yaml"))).not.toContain("preserve-unknown-fields")
  })

  it("lets a legacy target be an object, which the published schema never does", () => {
    for (const engine of ["pg", "mysql", "mongodb"]) {
      const { target } = schemaOf(`${engine}branchdatabases.yaml`).properties.spec.properties
      expect(target.enum).toBeUndefined()
      expect(target.oneOf).toHaveLength(9)
    }
  })

  it("accepts the objects that we write, and refuses garbage", () => {
    const ajv = new Ajv({ strict: false, validateFormats: false })
    const parent = ajv.compile(schemaOf("mirrordmulticlustersessions.yaml"))
    const spec = { owner, namespace: "d", targetAlias: "targetless", clusters: ["a"], primaryCluster: "p" }
    expect(
      parent({ spec, status: { phase: "Ready", clusterSessions: { a: { sessionName: "x", ready: true } } } })
    ).toBe(true)
    expect(parent({ spec, status: { phase: "Sleeping" } })).toBe(false)
    expect(parent({ spec: { ...spec, clusters: "a" } })).toBe(false)
  })
})

describe("readResource", () => {
  const session = {
    apiVersion: "mirrord.metalbear.co/v1alpha",
    kind: "MirrordClusterSession",
    metadata: { name: "x", managedFields: [] },
    spec: { namespace: "d", owner: { ...owner, more: 1 }, target: null, future: {} },
    status: null
  }

  it("lets unknown fields through and null where it is legal", () => {
    expect(Result.isSuccess(readResource(mirrordClusterSessions, session))).toBe(true)
    expect(apiVersionOf(mirrordClusterSessions)).toBe("mirrord.metalbear.co/v1alpha")
    expect(apiVersionOf({ group: "", version: "v1" })).toBe("v1")
  })

  it("reads what the API server stores of every kind, and keeps what is open in the published schemas", () => {
    const unreadable = customResources.flatMap((resource, index) =>
      (publishedKinds[index]?.valid ?? []).flatMap(({ dropped, name, ...sample }) => {
        const object = dropped.reduce<unknown>((part, path) => withField(part, path), {
          ...sample,
          metadata: { name: "x" }
        })
        const result = readResource(resource, object)
        return Result.isFailure(result) ? [`${resource.plural}, ${name}: ${result.failure.message}`] : []
      })
    )
    expect(unreadable).toEqual([])
    const spec = publishedKinds.find(({ plural }) => plural === "branchdatabases")?.valid[0]?.spec
    const read = Result.getOrThrow(readResource(branchDatabases, { metadata: { name: "x" }, spec })).spec
    expect(read).toMatchObject({
      migrations: { flavor: "flyway", archive: "aGk=" },
      connectionSource: { params: { host: { env: { variable: "HOST" } } } },
      postgresOptions: { iamAuth: { type: "aws_rds", region: {} } }
    })
  })

  it("names every field of garbage at once and no value", () => {
    const result = readResource(mirrordMultiClusterSessions, {
      metadata: { name: 1 },
      spec: { owner, namespace: "d", target: "SECRET", clusters: ["a", 2], primaryCluster: "p" }
    })
    if (Result.isSuccess(result)) throw new Error("accepted")
    expect(result.failure.problems.map(({ path }) => path)).toEqual([
      "metadata.name",
      "spec.target",
      "spec.targetAlias",
      "spec.clusters[1]"
    ])
    expect(result.failure.message).not.toContain("SECRET")
    for (const garbage of [null, 1, "x", [], {}])
      expect(Result.isFailure(readResource(mirrordMultiClusterSessions, garbage))).toBe(true)
  })

  it("reads a MirrordOperator with camelCase inside connected_clusters and refuses a wrong deprecated feature", () => {
    const license = { name: "braid", organization: "o", expire_at: "2099-12-31", fingerprint: "f" }
    const spec = {
      operator_version: "3.250.0+braid.0.1.0",
      default_namespace: "default",
      license,
      supported_features: ["ProxyApi", "Unheard"]
    }
    const lastCheck = "2026-01-27T09:22:55.824115967+00:00"
    const clusters = [
      { name: "a", lastCheck, connected: { operatorVersion: "3.250.0" } },
      { name: "b", lastCheck, error: { message: "down" } }
    ]
    const read = (object: object) => readResource(mirrordOperators, { metadata: {}, ...object })
    expect(
      Result.getOrThrow(read({ spec, status: { sessions: [], connected_clusters: clusters } })).status
        ?.connected_clusters
    ).toEqual(clusters)
    expect(Result.isFailure(read({ spec: { ...spec, features: ["CopyTarget"] } }))).toBe(true)
    expect(Result.isFailure(read({ spec, status: {} }))).toBe(true)
    expect(
      Result.isFailure(
        read({
          spec,
          status: { sessions: [], connected_clusters: [{ name: "a", lastCheck, connected: { operator_version: "1" } }] }
        })
      )
    ).toBe(true)
  })
})

describe("withCondition", () => {
  const ready = { type: "Ready", status: "True", reason: "R", message: "m" } as const

  it("moves the transition time only with the status and keeps others' conditions", () => {
    const first = withCondition([], ready, 1_000)
    expect(withCondition(first, ready, 2_000)).toBe(first)
    const reworded = withCondition(first, { ...ready, message: "n" }, 2_000)
    expect(findCondition(reworded, "Ready")?.lastTransitionTime).toBe("1970-01-01T00:00:01.000Z")
    const flipped = withCondition(
      [...first, { ...ready, type: "Other", lastTransitionTime: "t" }],
      { ...ready, status: "False" },
      3_000
    )
    expect(flipped.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
      ["Ready", "1970-01-01T00:00:03.000Z"],
      ["Other", "t"]
    ])
  })
})

describe("mergePatch", () => {
  it("mentions only what differs and removes with null", () => {
    expect(mergePatch({ a: 1, b: { c: 1, d: 2 } }, { a: 1, b: { c: 1 } })).toEqual({ b: { d: null } })
    expect(mergePatch({ a: [1, { b: 1 }] }, { a: [1, { b: 1 }] })).toBeUndefined()
    expect(mergePatch({ phase: undefined }, { phase: "Ready" })).toEqual({ phase: "Ready" })
  })
})

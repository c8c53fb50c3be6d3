/**
 * The manifests in `crds/`: they are what the schemas say, they agree with the published ones where clients can tell,
 * and they are structural. test/compat has what a server accepts by them.
 */

import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Ajv } from "ajv"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { customResourceDefinitions } from "../../../src/domain/resources/custom-resource-definitions.ts"
import { publishedKinds } from "../../compat/samples.ts"

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

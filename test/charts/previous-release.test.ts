import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Schema } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { asObject, type JsonObject } from "../../src/domain/json.ts"
import { customResources } from "../../src/domain/resources/custom-resource-definitions.ts"
import { collectionOf, objectOf, publishedKinds } from "../compat/samples.ts"
import { type ControlPlane, startControlPlane } from "../kubernetes/control-plane.ts"
import { describeKubernetes } from "../kubernetes/describe-kubernetes.ts"
import { type Answer, ApiClient, eventually } from "../lab/cluster/api-client.ts"
import { previousRelease } from "../releases/previous-release.ts"
import { chartFolder } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { execute } from "./installing.ts"
import { merged } from "./merged.ts"

/** Installs every kind. */
const values = publishedKinds
  .flatMap(({ installedWith }) => installedWith)
  .map((path) => path.split(".").reduceRight<unknown>((below, key) => ({ [key]: below }), true) as object)
  .reduce(merged, { operator: { multiCluster: { clusterName: "primary", defaultCluster: "a", clusters: {} } } })

/** Each valid sample of each kind, as an object of its own. */
const samples = publishedKinds.flatMap((kind) => kind.valid.map((sample, index) => ({ kind, sample, index })))

const expectCode = (answer: Answer, code: number): void =>
  expect(`${answer.code} ${answer.text}`).toMatch(new RegExp(`^${code} `, "u"))

describeKubernetes(`objects of release ${previousRelease.version}`, (assets) => {
  describeHelm("by the real helm", (helm) => {
    let plane: ControlPlane
    let client: ApiClient
    let stored: ReadonlyArray<JsonObject> = []
    const run = (...args: ReadonlyArray<string>): Promise<string> => execute(plane, helm, ...args)
    const pathOf = ({ index, kind }: (typeof samples)[number]): string => `${collectionOf(kind)}/sample-${index}`
    const contentOf = ({ spec, status }: JsonObject): JsonObject => ({
      ...(spec === undefined ? {} : { spec }),
      ...(status === undefined ? {} : { status })
    })
    const readAll = async (): Promise<ReadonlyArray<JsonObject>> => {
      const answers = await Promise.all(samples.map((sample) => client.get(pathOf(sample))))
      for (const answer of answers) expectCode(answer, 200)
      return answers.map(({ body }) => body)
    }
    /** Waits until the definitions are those of a release: the kind of sessions has this column, or has not. */
    const hasColumn = (has: boolean): Promise<unknown> =>
      eventually(
        () =>
          client.get("/apis/operator.metalbear.co/v1alpha/mirrordmulticlustersessions", {
            Accept: "application/json;as=Table;v=v1;g=meta.k8s.io"
          }),
        ({ text }) => text.includes('"Clusters"') === has
      )
    /** Changes nothing but an annotation, by which the server holds the whole object to its definition. */
    const writeAll = async (value: string): Promise<void> => {
      const patch = { metadata: { annotations: { "example.com/seen": value } } }
      for (const answer of await Promise.all(samples.map((sample) => client.merge(pathOf(sample), patch))))
        expectCode(answer, 200)
    }

    beforeAll(async () => {
      plane = await startControlPlane({ name: "previous", assets })
      client = new ApiClient(plane.server, plane.caPem, plane.admin)
      const file = join(plane.directory, "values.json")
      await writeFile(file, JSON.stringify(values))
      await run("install", "braid", previousRelease.chart, "--values", file)
      for (const one of samples) {
        const { index, kind, sample } = one
        const created = await eventually(
          () => client.post(collectionOf(kind), objectOf(kind, `sample-${index}`, sample.spec)),
          ({ code }) => code !== 404
        )
        expectCode(created, 201)
        if (!("status" in sample)) continue
        expectCode(await client.put(`${pathOf(one)}/status`, { ...created.body, status: sample.status }), 200)
      }
      stored = await readAll()
    })
    afterAll(() => plane.close())

    it("are read and written by this one", async () => {
      await run("upgrade", "braid", chartFolder, "--reuse-values")
      await hasColumn(true)
      const read = await readAll()
      for (const [index, object] of read.entries()) {
        // Fields with a default may have come.
        expect(contentOf(object)).toMatchObject(contentOf(stored[index] ?? {}))
        const resource = customResources.find(({ kind }) => kind === object["kind"])
        if (resource === undefined) throw new Error(`${String(object["kind"])} is no kind of this release`)
        expect(Schema.decodeUnknownSync(resource.schema as Schema.Decoder<unknown>)(object)).toBeDefined()
      }
      await writeAll("by this release")
    })

    it("are as before after a rollback, and can be written", async () => {
      await run("rollback", "braid", "1")
      await hasColumn(false)
      expect((await readAll()).map(contentOf)).toEqual(stored.map((object) => contentOf(asObject(object))))
      await writeAll("by the release before")
    })
  })
})

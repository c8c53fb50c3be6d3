import { readFileSync } from "node:fs"
import { beforeAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { asObject, asObjects, at, type JsonObject } from "../../src/domain/json.ts"
import { type ApiClient, type Answer, eventually } from "../lab/cluster/api-client.ts"
import {
  collectionOf,
  fieldAt,
  type InvalidSample,
  objectOf,
  type PublishedKind,
  publishedKinds,
  withField
} from "./samples.ts"

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

const expectCode = (answer: Answer, code: number): void =>
  expect(`${answer.code} ${answer.text}`).toMatch(new RegExp(`^${code} `, "u"))

const definitionOf = ({ plural }: PublishedKind): JsonObject =>
  asObject(parse(readFileSync(new URL(`../../crds/${plural}.yaml`, import.meta.url), "utf8")))

/** Posts every definition; the answers by kind. */
const install = async (client: ApiClient): Promise<ReadonlyMap<PublishedKind, Answer>> =>
  new Map(
    await Promise.all(
      publishedKinds.map(async (kind) => [kind, await client.post(definitions, definitionOf(kind))] as const)
    )
  )

const expectEstablished = async (client: ApiClient, kind: PublishedKind, answer: Answer | undefined): Promise<void> => {
  if (answer === undefined) throw new Error(`${kind.plural} is not installed`)
  expectCode(answer, 201)
  expect(answer.headers["warning"]).toBeUndefined()
  const conditions = async () => {
    const { body } = await client.get(`${definitions}/${kind.plural}.${kind.group}`)
    return Object.fromEntries(asObjects(at(body, "status", "conditions")).map(({ type, status }) => [type, status]))
  }
  const established = await eventually(conditions, (them) => them["Established"] === "True")
  expect(established).toMatchObject({ NamesAccepted: "True" })
  expect(established["NonStructuralSchema"] ?? "False").toBe("False")
  await eventually(
    () => client.get(collectionOf(kind)),
    ({ code }) => code === 200
  )
}

const expectServed = async (client: ApiClient, kind: PublishedKind): Promise<void> => {
  const { plural } = kind
  const { body } = await client.get(`/apis/${kind.group}/${kind.version}`)
  const resources = asObjects(body["resources"])
  const resource = resources.find(({ name }) => name === plural)
  expect(resource).toMatchObject({
    kind: kind.kind,
    singularName: kind.kind.toLowerCase(),
    namespaced: kind.scope === "Namespaced",
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames })
  })
  expect(resources.some(({ name }) => name === `${plural}/status`)).toBe(kind.status)
  const table = await client.get(collectionOf(kind), { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io" })
  const headers = asObjects(table.body["columnDefinitions"]).map(({ name }) => name)
  expect(headers.slice(1)).toEqual(expect.arrayContaining(kind.columns.map(([name]) => name)))
  expect(headers).toContain(
    kind.columns.some(([, path]) => path === ".metadata.creationTimestamp") ? headers[1] : "Age"
  )
}

/** A message of one cause as `field: text`, as the whole message repeats them. */
const causesOf = (answer: Answer): ReadonlyArray<string> =>
  asObjects(at(answer.body, "details", "causes")).map(({ field, message }) => `${String(field)}: ${String(message)}`)

const refused = async (
  client: ApiClient,
  kind: PublishedKind,
  sample: InvalidSample,
  name: string
): Promise<Answer> => {
  // It is there, if this is the second try.
  await client.delete(`${collectionOf(kind)}/${name}`)
  const [first] = kind.valid
  const change = "value" in sample ? [sample.value] : []
  const changed = withField({ ...objectOf(kind, name, first?.spec), status: first?.status }, sample.path, ...change)
  if (!sample.path.startsWith("status")) return client.post(collectionOf(kind), changed)
  const created = await client.post(collectionOf(kind), objectOf(kind, name, first?.spec))
  expectCode(created, 201)
  const url = `${collectionOf(kind)}/${name}`
  return client.put(`${url}/status`, { ...created.body, status: at(asObject(changed), "status") })
}

/**
 * The server's answer to every invalid sample, for a comparison of two servers. Installs the definitions if need be.
 */
export const refusals = async (client: ApiClient): Promise<Readonly<Record<string, ReadonlyArray<string>>>> => {
  await install(client)
  const answers = publishedKinds.flatMap((kind) =>
    kind.invalid.map(async (sample, index) => {
      const answer = await refused(client, kind, sample, `refused-${index}`)
      return [`${kind.plural}: ${sample.name}`, causesOf(answer).toSorted()] as const
    })
  )
  return Object.fromEntries(await Promise.all(answers))
}

/**
 * Our CustomResourceDefinitions accept what the published ones accept, and refuse the rest with a message that names
 * the field. The samples are objects as clients, administrators and operators write them (published-chart.md §1).
 */
export const customResourcesSuite = (client: () => ApiClient): void => {
  let installed: ReadonlyMap<PublishedKind, Answer> = new Map()
  beforeAll(async () => {
    installed = await install(client())
  })

  for (const kind of publishedKinds) {
    // Where one is not accepted, the others' tests still say something.
    describe(`${kind.plural}.${kind.group}`, () => {
      beforeAll(() => expectEstablished(client(), kind, installed.get(kind)))

      it("is served with the published names, scope and columns", () => expectServed(client(), kind))

      for (const [index, { dropped, name, spec, stored, ...sample }] of kind.valid.entries()) {
        it(`accepts ${name}`, async () => {
          const sent = objectOf(kind, `valid-${index}`, spec)
          // It is there, if this is the second try.
          await client().delete(`${collectionOf(kind)}/valid-${index}`)
          const kept = dropped.reduce<unknown>((object, path) => withField(object, path), { spec, ...sample })
          const expectStored = ({ body }: Answer, part: "spec" | "status"): void => {
            expect(body[part] ?? null).toEqual(at(kept, part) === null ? null : expect.anything())
            expect(body[part] ?? {}).toMatchObject(asObject(at(kept, part)))
            for (const path of dropped.filter((one) => one.startsWith(part)))
              expect(fieldAt(body, path)).toBeUndefined()
          }
          const created = await client().post(collectionOf(kind), sent)
          expectCode(created, 201)
          expectStored(created, "spec")
          expect(created.body["spec"]).toMatchObject(stored)
          if (!("status" in sample)) return
          const url = `${collectionOf(kind)}/valid-${index}`
          const written = await client().put(`${url}/status`, { ...created.body, status: sample.status })
          expectCode(written, 200)
          expectStored(written, "status")
        })
      }

      for (const [index, sample] of kind.invalid.entries()) {
        const { field, name } = sample
        it(`refuses ${name} and names ${field}`, async () => {
          const answer = await refused(client(), kind, sample, `invalid-${index}`)
          expectCode(answer, 422)
          expect(answer.body).toMatchObject({ kind: "Status", reason: "Invalid" })
          expect(answer.body["message"]).toContain(field)
          expect(causesOf(answer).some((cause) => cause.includes(field))).toBe(true)
        })
      }
    })
  }
  it("holds only new branches to the rules, so that older ones can still be changed and deleted", async () => {
    const kind = publishedKinds.find(({ plural }) => plural === "branchdatabases")
    const [sample] = kind?.valid ?? []
    if (kind === undefined || sample === undefined) throw new Error("there is no sample")
    const definition = `${definitions}/${kind.plural}.${kind.group}`
    const rulesPath = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations"
    const rules = fieldAt(definitionOf(kind), rulesPath.slice(1).replaceAll("/", "."))
    const branch = (name: string) => objectOf(kind, name, { ...sample.spec, redisOptions: {} })
    const url = `${collectionOf(kind)}/old`
    let attempts = 0

    expectCode(await client().jsonPatch(definition, [{ op: "remove", path: rulesPath }]), 200)
    await eventually(
      () => client().post(collectionOf(kind), branch("old")),
      ({ code }) => code === 201
    )
    expectCode(await client().jsonPatch(definition, [{ op: "add", path: rulesPath, value: rules }]), 200)
    await eventually(
      () => client().post(collectionOf(kind), branch(`new-${++attempts}`)),
      ({ code }) => code === 422
    )

    expectCode(await client().merge(url, { metadata: { finalizers: ["example.com/clean-up"] } }), 200)
    expectCode(
      await client().merge(`${url}/status`, { status: { phase: "Failed", expireTime: "2026-01-02T03:04:05Z" } }),
      200
    )
    expectCode(await client().merge(url, { spec: { ttlSecs: 1 } }), 200)
    expectCode(await client().merge(url, { metadata: { finalizers: null } }), 200)
    expectCode(await client().delete(url), 200)
  })
}

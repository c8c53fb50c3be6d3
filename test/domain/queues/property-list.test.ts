import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { findPropertyList, objectsOf, resolveProperties } from "../../../src/domain/queues/property-list.ts"
import { failureOf } from "./split-objects.ts"

const object = (spec: object) => ({ metadata: { name: "options" }, spec })
const find = (local: unknown, operators: unknown) =>
  findPropertyList("options", [
    { namespace: "dev", object: local },
    { namespace: "mirrord", object: operators }
  ])
const objects = {
  configMaps: new Map([
    [
      "map",
      new Map([
        ["a", "map a"],
        ["b", "map b"]
      ])
    ],
    ["later", new Map([["b", "later b"]])]
  ]),
  secrets: new Map([["vault", new Map([["p", Redacted.make("secret p")]])]])
}
const resolved = (spec: object) =>
  Result.map(
    Result.flatMap(find(object(spec), undefined), (found) => resolveProperties(found, objects)),
    (properties) => Object.fromEntries([...properties].map(([name, value]) => [name, Redacted.value(value)]))
  )
const from = (kind: "configMapKeyRef" | "secretKeyRef", name: string, key: string, optional?: boolean) => ({
  name: "x",
  valueFrom: { [kind]: { name, key, ...(optional === undefined ? {} : { optional }) } }
})

describe("a property list", () => {
  it("is the target's own, else the operator's; one that cannot be read hides the other", () => {
    expect(Result.getOrThrow(find(object({}), object({}))).namespace).toBe("dev")
    expect(Result.getOrThrow(find(undefined, object({}))).namespace).toBe("mirrord")
    expect(failureOf(find(undefined, undefined))).toBe(
      'There is no MirrordPropertyList "options" in the namespace dev or mirrord: create it there.'
    )
    expect(failureOf(find(object({ properties: [{ name: 1 }] }), object({})))).toMatch(
      /^The MirrordPropertyList "options" in the namespace dev cannot be used\. .*spec\.properties/u
    )
  })

  it("names the objects that it reads once each", () => {
    const properties = [
      { name: "a", value: "1" },
      from("configMapKeyRef", "map", "a"),
      from("secretKeyRef", "vault", "p")
    ]
    const propertiesFrom = [{ configMapRef: { name: "later" } }, { configMapRef: { name: "map" } }]
    const { list } = Result.getOrThrow(find(object({ properties, propertiesFrom }), undefined))
    expect(objectsOf(list)).toEqual({ configMaps: ["map", "later"], secrets: ["vault"] })
  })

  it("has single properties before those of whole objects, of which the last wins", () => {
    const whole = [{ configMapRef: { name: "map" } }, { configMapRef: { name: "later" } }]
    const prefixed = { prefix: "s.", secretRef: { name: "vault" } }
    const missing = { secretRef: { name: "gone", optional: true } }
    expect(
      Result.getOrThrow(
        resolved({
          properties: [{ name: "a", value: "own" }, from("secretKeyRef", "vault", "p")],
          propertiesFrom: [...whole, prefixed, missing]
        })
      )
    ).toEqual({ a: "own", b: "later b", "s.p": "secret p", x: "secret p" })
  })

  it.each([
    [from("configMapKeyRef", "map", "gone", true), {}],
    [from("configMapKeyRef", "gone", "a", true), {}],
    [from("configMapKeyRef", "map", "a", true), { x: "map a" }],
    [from("configMapKeyRef", "map", "gone"), 'reads the key "gone" of the ConfigMap "map", which is not there'],
    [from("secretKeyRef", "map", "a"), 'reads the key "a" of the Secret "map", which is not there'],
    [{ name: "x" }, 'must have exactly one value for the property "x"'],
    [{ ...from("configMapKeyRef", "map", "a"), value: "v" }, 'must have exactly one value for the property "x"']
  ])("reads the property %j", (property, found) => {
    const read = resolved({ properties: [property] })
    if (typeof found === "object") expect(Result.getOrThrow(read)).toEqual(found)
    else expect(failureOf(read)).toContain(`The MirrordPropertyList "options" in the namespace dev ${found}`)
  })

  it.each([
    [{ secretRef: { name: "gone" } }, 'reads the Secret "gone", which is not there: create it, or make'],
    [{ prefix: "a" }, "must name either a ConfigMap or a Secret"],
    [{ secretRef: { name: "vault" }, configMapRef: { name: "map" } }, "must name either a ConfigMap or a Secret"]
  ])("refuses the objects %j", (entry, problem) => {
    expect(failureOf(resolved({ propertiesFrom: [entry] }))).toContain(problem)
  })
})

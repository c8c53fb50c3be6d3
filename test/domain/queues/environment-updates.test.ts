import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { environmentUpdates } from "../../../src/domain/queues/environment-updates.ts"
import { queuesOfVariable } from "../../../src/domain/queues/queue-references.ts"
import { queueSources, referencesOf } from "../../../src/domain/queues/queue-sources.ts"
import { literalValue } from "../../../src/domain/variable-text.ts"
import { type Entry, kubeletVariables, objectsOfContainer, smallContainer } from "./kubelet.ts"
import { failureOf, readReference, template } from "./split-objects.ts"

/** A variable of the container `app`, with one queue. */
const variable = (id: string, name: string, value: string, container = "app") =>
  Result.getOrThrow(
    queuesOfVariable({ id, container, variable: name, value, form: { _tag: "Whole" } }, readReference, () =>
      Result.fail("")
    )
  )
const url = "https://sqs.eu-west-1.amazonaws.com/1/orders"
const main = (reference: string) => `main-${reference.slice(reference.lastIndexOf("/") + 1)}`
const updates = (
  variables: ReadonlyArray<ReturnType<typeof variable>>,
  containers: Readonly<Record<string, object>>,
  names: Parameters<typeof environmentUpdates>[2] = main
) =>
  Result.map(environmentUpdates(variables, { template: template(containers), configMaps: new Map() }, names), (all) =>
    Object.fromEntries([...all].map(([name, values]) => [name, Object.fromEntries(values)]))
  )

/** The entries with the values as the webhook writes them: in the place of the last of the name, or at the end. */
const patched = (env: ReadonlyArray<Entry>, values: ReadonlyMap<string, string>): ReadonlyArray<Entry> => {
  const last = new Map(env.map(({ name }, index) => [name, index]))
  const added = [...values].filter(([name]) => !last.has(name)).map(([name, value]) => ({ name, value }))
  const kept = env.map((entry, index) => {
    const value = last.get(entry.name) === index ? values.get(entry.name) : undefined
    return value === undefined ? entry : { name: entry.name, value: literalValue(value) }
  })
  return [...kept, ...added]
}

describe("the updates of a container", () => {
  it("are what its program sees after them, wherever its variables come from, and all that changes for it", () => {
    fc.assert(
      fc.property(smallContainer, fc.constantFrom("A", "B", "PA"), (small, name) => {
        const before = kubeletVariables(small)
        const value = before.get(name) ?? "orders"
        fc.pre(/^[-a-z]+$/u.test(value))
        const { configMaps, container } = objectsOfContainer(small)
        const source = { template: template({ app: container }), configMaps }
        const made = environmentUpdates([variable("id", name, value)], source, main)
        // A value with a reference that is not resolved, beside one that changes, cannot be written.
        if (Result.isFailure(made)) {
          expect(made.failure).toMatch(/ refers to \$\(.*its new value is not known/u)
          return
        }
        const values = made.success.get("app") ?? new Map<string, string>()
        expect(values.get(name)).toBe(`main-${value}`)
        const after = kubeletVariables({ ...small, env: patched(small.env, values) })
        expect(after).toEqual(new Map([...before, ...values]))
      }),
      { numRuns: 2_000 }
    )
  })

  it("have a URL for a URL, the same queue everywhere, and values that refer to one at its place", () => {
    const env = [
      { name: "Q", value: "earlier" },
      { name: "OTHER", value: "$(Q)" },
      { name: "Q", value: "orders" },
      { name: "HOST", value: "https://sqs.eu-west-1.amazonaws.com/1" },
      { name: "U", value: "$(HOST)/$(Q)" },
      { name: "LABEL", value: "$(U)?$$x" }
    ]
    const own = [variable("a", "Q", "orders"), variable("b", "U", url), variable("a", "R", "orders", "side")]
    expect(Result.getOrThrow(updates(own, { app: env, side: {}, other: env }))).toEqual({
      app: {
        Q: "main-orders",
        U: url.replace("orders", "main-orders"),
        LABEL: `${url.replace("orders", "main-orders")}?$x`
      },
      side: { R: "main-orders" }
    })
  })

  it("are refused where a value that follows cannot be written", () => {
    const secret = { name: "P", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }
    const env = [
      { name: "Q", value: "orders" },
      secret,
      { name: "L", value: "$(P)" },
      { name: "C", value: "$(Q)@$(P)" }
    ]
    expect(failureOf(updates([variable("a", "Q", "orders")], { app: env }))).toBe(
      'The variable "C" of the container "app" refers to $(Q), which names a queue, and refers to $(P), which comes ' +
        'from the Secret "s", which the operator does not read: its new value is not known. Let it refer to values ' +
        "of the pod template alone."
    )
    const chain = [...env.slice(0, 2), { name: "M", value: "$(Q)" }, { name: "C", value: "$(M)@$(P)" }]
    expect(failureOf(updates([variable("a", "Q", "orders")], { app: chain }))).toContain("refers to $(M)")
    expect(Result.isSuccess(updates([variable("a", "Q", "orders")], { app: env.slice(0, 3) }))).toBe(true)
  })

  it("never hold an original whose temporary queue is missing", () => {
    const own = [variable("a", "Q", "orders"), variable("a", "R", "more")]
    const names = (reference: string) => (reference === "orders" ? "main-orders" : undefined)
    expect(failureOf(updates(own, { app: {} }, names))).toContain('The queue "more", which the variable "R"')
  })
})

describe("the queues of a workload", () => {
  it("are each one source, however often they are named", () => {
    const all = [
      variable("a", "Q", "orders"),
      variable("b", "U", url),
      variable("a", "R", "orders", "side"),
      variable("c", "S", "more")
    ]
    const firsts = referencesOf(all).map(({ reference: { text }, variable: { variable: name } }) => `${name} ${text}`)
    expect(firsts).toEqual(["Q orders", `U ${url}`, "S more"])
    const arn = (reference: string) => `arn:${reference.slice(reference.lastIndexOf("/") + 1)}`
    expect(queueSources(all, arn)).toEqual([
      { identity: "arn:orders", reference: "orders", ids: ["a", "b"] },
      { identity: "arn:more", reference: "more", ids: ["c"] }
    ])
  })
})

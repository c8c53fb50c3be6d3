import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { asObjects, at } from "../../../src/domain/json.ts"
import { patchedLabel, podPatch } from "../../../src/domain/queues/pod-patch.ts"
import { kubeletVariables, objectsOfContainer, smallContainer } from "./kubelet.ts"
import { ordersPod, split, storedPod } from "./reviewed-pod.ts"

const values = fc.dictionary(fc.constantFrom("A", "B", "NEW"), fc.constantFrom("", "main", "$(A)", "a$$b"))

/** A pod of one container, beside one that is not changed. */
const podOf = (container: object, field: "containers" | "initContainers") => ({
  metadata: { name: "p" },
  spec: {
    [field]: [
      { name: "other", env: [{ name: "A", value: "other" }] },
      { name: "app", ...container }
    ]
  }
})

const environment = (pod: object, field: string) => asObjects(at(asObjects(at(pod, "spec", field))[1], "env"))

describe("the patch of a pod", () => {
  it("lets its programs read exactly the new values, each in the place of the last of its name", () => {
    fc.assert(
      fc.property(smallContainer, values, fc.constantFrom("containers", "initContainers"), (small, made, field) => {
        const { container } = objectsOfContainer(small)
        const before = storedPod(podOf(container, field))
        const updates = new Map([["app", new Map(Object.entries(made))]])
        const after = storedPod(before, podPatch(before, "uid-1", updates))
        const env = environment(after, field)
        const read = kubeletVariables({
          ...small,
          env: env.map(({ name, value }) => ({ name: String(name), value: String(value ?? "") }))
        })
        for (const [name, text] of Object.entries(made)) expect(read.get(name)).toBe(text)
        const entries = environment(before, field)
        const names = entries.map(({ name }) => name)
        expect(env.slice(0, names.length).map(({ name }) => name)).toEqual(names)
        for (const [index, entry] of entries.entries())
          if (!(String(entry["name"]) in made) || names.lastIndexOf(entry["name"]) !== index)
            expect(env[index]).toEqual(entry)
        expect(podPatch(after, "uid-1", updates)).toEqual([])
        expect(asObjects(at(after, "spec", field))[0]).toEqual(asObjects(at(before, "spec", field))[0])
      }),
      { numRuns: 1_000 }
    )
  })

  it.each([
    ["without variables", { name: "app" }],
    ["with none", { name: "app", env: [] }],
    ["with a value from elsewhere", { name: "app", env: [{ name: "QUEUE", valueFrom: { configMapKeyRef: {} } }] }]
  ])("names nothing but the value: %s", (_, container) => {
    const pod = { metadata: {}, spec: { containers: [container] } }
    expect(storedPod(pod, podPatch(pod, split.uid, split.updates))).toEqual({
      metadata: { labels: { "operator.metalbear.co/patched": "uid-1" } },
      spec: { containers: [{ name: "app", env: [{ name: "QUEUE", value: "main-orders" }] }] }
    })
  })

  it("leaves other containers and labels, and takes the place of another split's label", () => {
    const labels = { [patchedLabel]: "old", app: "orders" }
    const pod = { ...ordersPod, metadata: { labels } }
    expect(storedPod(pod, podPatch(pod, "uid-2", new Map([["side", new Map([["QUEUE", "x"]])]])))).toEqual({
      ...pod,
      metadata: { labels: { ...labels, [patchedLabel]: "uid-2" } }
    })
  })
})

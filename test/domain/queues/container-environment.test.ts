import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { configMapsOf, containerEnvironment } from "../../../src/domain/queues/container-environment.ts"
import { kubeletVariables, objectsOfContainer, smallContainer } from "./kubelet.ts"
import { template } from "./split-objects.ts"

const maps = new Map([["map", { A: "from map", __proto__x: "" }]])
const value = (env: ReadonlyArray<object>, name: string) => containerEnvironment({ env }, maps).variables.get(name)

describe("the variables of a container", () => {
  it("are those that the kubelet makes, as far as all references are resolved", () => {
    fc.assert(
      fc.property(smallContainer, (small) => {
        const { configMaps, container } = objectsOfContainer(small)
        const { variables } = containerEnvironment(container, configMaps)
        const expected = kubeletVariables(small)
        expect([...variables.keys()].toSorted()).toEqual([...expected.keys()].toSorted())
        for (const [name, found] of variables) {
          if (found._tag === "Known") expect(found.text).toBe(expected.get(name))
          else expect(found.why).toMatch(/^refers to \$\(.*, which the pod template does not define before it$/u)
        }
      }),
      { numRuns: 2_000 }
    )
  })

  it("are none in a container that says nothing", () => {
    expect(containerEnvironment({}, maps)).toEqual({ variables: new Map(), unread: [] })
    expect(configMapsOf({})).toEqual([])
  })

  it.each([
    [
      "a Secret",
      { secretKeyRef: { name: "s", key: "k" } },
      'comes from the Secret "s", which the operator does not read'
    ],
    [
      "a field",
      { fieldRef: { fieldPath: "status.podIP" } },
      "comes from fieldRef, which is known only when a pod starts"
    ],
    [
      "a file",
      { fileKeyRef: { volumeName: "v", path: "env", key: "A" } },
      "comes from fileKeyRef, which is known only when a pod starts"
    ],
    [
      "no ConfigMap",
      { configMapKeyRef: { name: "gone", key: "A" } },
      'the key "A" of the ConfigMap "gone", which is not'
    ],
    [
      "no key",
      { configMapKeyRef: { name: "map", key: "toString" } },
      'the key "toString" of the ConfigMap "map", which is'
    ]
  ])("are unknown where one comes from %s, and so are those that refer to it", (_, valueFrom, why) => {
    const env = [
      { name: "X", valueFrom },
      { name: "Y", value: "$(X)/y" }
    ]
    expect(value(env, "X")).toMatchObject({ _tag: "Unknown", why: expect.stringContaining(why) })
    expect(value(env, "Y")).toMatchObject({
      why: expect.stringMatching(/^refers to \$\(X\), which comes/u),
      refers: new Set(["X"])
    })
  })

  it("have a key of a ConfigMap as it is, and keep an earlier value where an optional one is missing", () => {
    const from = (key: string, optional: boolean) => ({ configMapKeyRef: { name: "map", key, optional } })
    expect(value([{ name: "X", valueFrom: from("A", false) }], "X")).toEqual({ _tag: "Known", text: "from map" })
    const env = [
      { name: "X", value: "old" },
      { name: "X", valueFrom: from("gone", true) }
    ]
    expect(value(env, "X")).toEqual({ _tag: "Known", text: "old" })
    expect(value(env.slice(1), "X")).toBeUndefined()
  })

  it("are unknown before they grow without end", () => {
    const env = Array.from({ length: 40 }, (_, i) => ({
      name: `V${i}`,
      value: i === 0 ? "x".repeat(99) : `$(V${i - 1})`.repeat(9)
    }))
    expect(value(env, "V39")).toMatchObject({ why: expect.stringContaining("is longer than a program can read") })
  })

  it("may be in objects that are not read, which are named", () => {
    const envFrom = [
      { configMapRef: { name: "gone" } },
      { secretRef: { name: "s" } },
      { configMapRef: { name: "map" } }
    ]
    expect(containerEnvironment({ envFrom }, maps).unread).toEqual([
      'the ConfigMap "gone", which is not there',
      'the Secret "s"'
    ])
    const env = [
      { name: "X", valueFrom: { configMapKeyRef: { name: "keys", key: "k" } } },
      { name: "Y", value: "y" }
    ]
    expect(configMapsOf(template({ a: { envFrom, env }, b: { envFrom } }, [{ env }]))).toEqual(["keys", "gone", "map"])
  })
})

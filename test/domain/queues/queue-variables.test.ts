import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { queueVariables } from "../../../src/domain/queues/queue-variables.ts"
import { readSplitConfig } from "../../../src/domain/queues/split-config-reader.ts"
import { failureOf, patterns, splitConfig, sqs, template } from "./split-objects.ts"

const env = (variables: Readonly<Record<string, string>>) =>
  Object.entries(variables).map(([name, value]) => ({ name, value }))
const secret = { name: "Q", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }

/** The variables as `id container/NAME=value`. */
const variables = (pod: object, ...queues: ReadonlyArray<object>) => {
  const configuration = Result.getOrThrow(readSplitConfig(splitConfig({ queues }), new Map(), patterns))
  const configMaps = new Map([["map", { A: "one", B: "two" }]])
  return Result.map(queueVariables(configuration, { template: { ...pod }, configMaps }), (all) =>
    all.map(({ container, id, value, variable }) => `${id} ${container}/${variable}=${value}`)
  )
}
const q = { env: "Q" }
const app = template({ app: env({ Q: "orders" }) })
const two = template({ app: env({ Q: "orders" }), side: {} })
const init = { name: "first", env: env({ Q: "init" }) }

describe("the variables that name queues", () => {
  it.each([
    ["a name", app, q, ["app/Q=orders"]],
    ["a name that one container has", two, q, ["app/Q=orders"]],
    ["a name in several containers", template({ a: env({ Q: "x" }), b: env({ Q: "y" }) }), q, ["a/Q=x", "b/Q=y"]],
    [
      "a name without containers of a mesh",
      template({ app: env({ Q: "x" }), "istio-proxy": [secret] }),
      q,
      ["app/Q=x"]
    ],
    [
      "a name in a container of a mesh that is named",
      template({ app: {}, "istio-proxy": env({ Q: "x" }) }),
      { ...q, containers: ["istio-proxy"] },
      ["istio-proxy/Q=x"]
    ],
    ["a name without init containers", template({ app: env({ Q: "x" }) }, [init]), q, ["app/Q=x"]],
    [
      "a name in an init container that stays",
      template({ app: {} }, [{ ...init, restartPolicy: "Always" }]),
      q,
      ["first/Q=init"]
    ],
    [
      "a name in an init container that is named",
      template({ app: {} }, [init]),
      { ...q, containers: ["first"] },
      ["first/Q=init"]
    ],
    ["a fallback that is not needed", two, { ...q, fallback: "old" }, ["app/Q=orders"]],
    [
      "a fallback that all need",
      template({ a: {}, b: {}, "istio-proxy": {} }),
      { ...q, fallback: "old" },
      ["a/Q=old", "b/Q=old"]
    ],
    [
      "a fallback that one named container needs",
      two,
      { ...q, fallback: "old", containers: ["app", "side"] },
      ["app/Q=orders", "side/Q=old"]
    ],
    [
      "a pattern",
      template({ app: { envFrom: [{ prefix: "Q_", configMapRef: { name: "map" } }] } }),
      { envLike: "^Q_" },
      ["app/Q_A=one", "app/Q_B=two"]
    ]
  ])("are found by %s", (_, pod, reference, found) => {
    expect(Result.getOrThrow(variables(pod, sqs("id", reference)))).toEqual(found.map((one) => `id ${one}`))
  })

  it.each([
    [
      "no variable",
      template({ app: {} }),
      q,
      'needs the variable "Q", which the pod template and its ConfigMaps do not set in the container "app". Set it'
    ],
    ["no container", template({ "istio-proxy": {} }), { ...q, fallback: "old" }, "do not set in any container. Set it"],
    [
      "a variable that a Secret may have",
      template({ app: { envFrom: [{ secretRef: { name: "s" } }] } }),
      q,
      'the operator does not see whether it is in the Secret "s". Set it'
    ],
    ["a named container without it", two, { ...q, containers: ["app", "side"] }, 'do not set in the container "side"'],
    [
      "a container that there is not",
      two,
      { ...q, containers: ["gone"] },
      'names the container "gone", which the workload does not have; it has "app", "side"'
    ],
    [
      "a variable of a Secret",
      template({ app: [secret], b: env({ Q: "x" }) }),
      { ...q, fallback: "old" },
      'cannot be split: the variable "Q" of the container "app" comes from the Secret "s"'
    ],
    ["a pattern that finds none", app, { envLike: "^X" }, 'needs a variable like "^X"']
  ])("refuse %s", (_, pod, reference, problem) => {
    const failure = failureOf(variables(pod, sqs("id", reference)))
    expect(failure).toContain('The queue "id" of MirrordSplitConfig "splits" ')
    expect(failure).toContain(problem)
  })

  it("have one queue each: a claim of another queue, or in another way, is refused", () => {
    const again = { id: "a", kind: "sqs", appConfig: { queue: [q, { envLike: "Q" }] } }
    expect(Result.getOrThrow(variables(app, again))).toEqual(["a app/Q=orders"])
    expect(failureOf(variables(app, sqs("a", q), sqs("b", { envLike: "Q" })))).toBe(
      'MirrordSplitConfig "splits" claims the variable "Q" of the container "app" for both "a" and "b": let one ' +
        "queue have it."
    )
    const otherwise = { id: "a", kind: "sqs", appConfig: { queue: [q, { ...q, valuePattern: "(.*)" }] } }
    expect(failureOf(variables(app, otherwise))).toContain('for "a" in two ways: let one queue have it.')
    const fallbacks = { id: "a", kind: "sqs", appConfig: { queue: ["x", "y"].map((fallback) => ({ ...q, fallback })) } }
    expect(failureOf(variables(template({ app: {} }), fallbacks))).toContain('for "a" in two ways')
    const apart = ["a", "b"].map((name) => sqs(name, { ...q, containers: [name] }))
    expect(Result.isSuccess(variables(template({ a: env({ Q: "x" }), b: env({ Q: "x" }) }), ...apart))).toBe(true)
  })
})

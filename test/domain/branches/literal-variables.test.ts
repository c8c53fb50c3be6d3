import { describe, expect, it } from "vitest"
import { literalVariables } from "../../../src/domain/branches/literal-variables.ts"

const pod = (env: unknown) => ({ spec: { containers: [{ name: "other" }, { name: "app", env }] } })

describe("variables whose values stand in a pod", () => {
  it("are those of the container that refer to nothing", () => {
    const env = [
      { name: "A", value: "1" },
      { name: "B", value: "x$(A)" },
      { name: "C", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
      { name: "D", value: "first" },
      { name: "D", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
      { name: "E", value: "" },
      { value: "2" }
    ]
    expect([...literalVariables(pod(env), "app")]).toEqual([
      ["A", "1"],
      ["E", ""]
    ])
    expect(literalVariables(pod(env), "other").size).toBe(0)
    expect(literalVariables({}, "app").size).toBe(0)
  })
})

import { describe, expect, it } from "vitest"
import { evaluateJsonPath } from "../../../../lab/cluster/http/json-path.ts"
import { humanDuration } from "../../../../lab/cluster/http/tables.ts"

const object = {
  spec: {
    size: 3,
    list: [
      { name: "a", v: 1 },
      { name: "b", v: 2 }
    ]
  },
  metadata: { labels: { "app.kubernetes.io/name": "x" } }
}

describe("printer columns", () => {
  it.each([
    [".spec.size", 3],
    ["{.spec.size}", 3],
    ["$.spec.list[1].v", 2],
    ['.spec.list[?(@.name=="b")].v', 2],
    [".spec.list[?(@.name=='a')].v", 1],
    [".spec.list[*].name", "a"],
    ["['spec']['size']", 3],
    [".metadata.labels.app\\.kubernetes\\.io/name", "x"],
    [".spec.none.deeper", undefined],
    [".spec.list[9].v", undefined],
    [".spec..(", undefined]
  ])("%s", (path, expected) => {
    expect(evaluateJsonPath(object, path)).toEqual(expected)
  })

  it.each([
    [0, "0s"],
    [119_000, "119s"],
    [121_000, "2m1s"],
    [600_000, "10m"],
    [3 * 3600_000, "3h"],
    [7.5 * 3600_000, "7h30m"],
    [47 * 3600_000, "47h"],
    [5 * 86_400_000, "5d"],
    [800 * 86_400_000, "2y70d"],
    [-5_000, "<invalid>"]
  ])("age %d", (ms, expected) => {
    expect(humanDuration(ms)).toBe(expected)
  })
})

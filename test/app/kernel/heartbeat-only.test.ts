import { describe, expect, it } from "vitest"
import { isHeartbeatOnly } from "../../../src/app/kernel/heartbeat-only.ts"

describe("a change that is a heartbeat only", () => {
  const object = (resourceVersion: string, status?: object, more: object = {}) => ({
    metadata: { name: "s", resourceVersion, ...more },
    spec: { a: 1 },
    ...(status === undefined ? {} : { status })
  })
  it.each([
    [
      "another timestamp",
      object("1", { phase: "Ready", connectedTimestamp: "a" }),
      object("2", { phase: "Ready", connectedTimestamp: "b" }),
      true
    ],
    ["the first timestamp", object("1"), object("2", { connectedTimestamp: "b" }), true],
    ["with managed fields", object("1", {}, { managedFields: [1] }), object("2", {}, { managedFields: [2] }), true],
    [
      "another phase too",
      object("1", { phase: "Pending", connectedTimestamp: "a" }),
      object("2", { phase: "Ready", connectedTimestamp: "b" }),
      false
    ],
    ["a deletion", object("1"), object("2", {}, { deletionTimestamp: "now" }), false],
    ["another object", object("1", {}, { uid: "1" }), object("2", {}, { uid: "2" }), false]
  ])("%s", (_what, before, after, expected) => {
    expect(isHeartbeatOnly(before, after)).toBe(expected)
  })
  it("is none where nothing was known", () => {
    expect(isHeartbeatOnly(undefined, object("1"))).toBe(false)
  })
})

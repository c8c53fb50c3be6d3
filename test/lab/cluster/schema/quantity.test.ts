import { describe, expect, it } from "vitest"
import { canonicalQuantity, compareQuantities } from "../../../../lab/cluster/schema/quantity.ts"

// All answers were recorded from a kube-apiserver 1.36.
const canonical = {
  "1": "1",
  "1000m": "1",
  "1500m": "1500m",
  ".5": "500m",
  "1e3": "1e3",
  "12e-1": "1200e-3",
  "1e1": "10",
  "1024Ki": "1Mi",
  "1000Ki": "1000Ki",
  "0.5Gi": "512Mi",
  "0.3Gi": "322122547200m",
  "1.5Ki": "1536",
  "123456789": "123456789",
  "1000000": "1M",
  "1024Pi": "1Ei",
  "0Ki": "0",
  "-1": "-1"
}

describe("quantities", () => {
  it("take the form in which a server writes them", () => {
    expect(Object.fromEntries(Object.keys(canonical).map((text) => [text, canonicalQuantity(text)]))).toEqual(canonical)
    expect(["", "abc", "1_0", "1Kb", "1 Gi", "--1"].map(canonicalQuantity)).toEqual(Array(6).fill(undefined))
  })

  it("compare by what they mean", () => {
    expect(compareQuantities("1Gi", "1G")).toBeGreaterThan(0)
    expect(compareQuantities("500m", "0.5")).toBe(0)
    expect(compareQuantities("-1", "1m")).toBeLessThan(0)
  })
})

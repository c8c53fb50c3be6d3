/** The primary dies at every point of a renewal: no credential is lost, and no cluster. */

import { describe, expect, it } from "vitest"
import { rotationRuns, testRotationSweep } from "./swept-rotation.ts"

// `npm run test:long` also fails each call in each other way. A crash before a call is one after the call before.
const runs = rotationRuns().filter(({ name }) => name.endsWith(" crash after"))

describe("sweep of a renewal", () => {
  it("has every call of two renewals of each member", () => {
    const calls = (what: string) => runs.filter(({ name }) => name.includes(what)).length
    expect(calls("(create serviceaccounts/")).toBe(4)
    expect(calls("(create secrets ")).toBe(2)
    expect(calls("(patch secrets ")).toBe(2)
  })

  testRotationSweep(runs)
})

import { afterEach, describe, expect, it } from "vitest"
import { makePoolSmall } from "../../../src/app/operator/buffer-pool.ts"

const before = Buffer.poolSize
afterEach(() => {
  Buffer.poolSize = before
})

describe("the pool of small buffers", () => {
  it("lets a small buffer hold little more than itself", () => {
    makePoolSmall()
    // The piece from before is used up.
    Array.from({ length: before / 8 }, () => Buffer.from("12345678"))
    expect(Buffer.from("12345678").buffer.byteLength).toBeLessThanOrEqual(1024)
  })
})

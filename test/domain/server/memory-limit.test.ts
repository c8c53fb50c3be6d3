import { expect, it } from "vitest"
import { memoryProblem } from "../../../src/domain/server/memory-limit.ts"

const mebibyte = 1_048_576

it.each([undefined, 128 * mebibyte, 512 * mebibyte])("an operator starts with a limit of %s bytes", (limit) => {
  expect(memoryProblem(limit)).toBeUndefined()
})

it("an operator does not start with less memory than it needs, and says what it found", () => {
  expect(memoryProblem(128 * mebibyte - 1)).toBe(
    "the memory limit of this container is 127 MiB, and an operator needs 128 MiB at least, more with sessions; " +
      "raise operator.limits.memory, 512Mi unless set"
  )
})

import { describe, expect, it } from "vitest"
import { AnswerOrder } from "../../../src/domain/protocol/answer-order.ts"

const mebibyte = 1024 * 1024

describe("the order of answers", () => {
  it("has room again for what was answered, so that a long connection never fills it", () => {
    const order = new AnswerOrder<string>()
    for (let i = 0; i < 5; i++) {
      order.asked("note", mebibyte)
      expect(order.refused(new Uint8Array(mebibyte))).toEqual([])
      expect(order.answered()).toMatchObject({ note: "note", due: [{ length: mebibyte }] })
    }
    expect(order.isFull).toBe(false)
    for (let i = 0; i < 4; i++) order.asked("note", mebibyte)
    expect(order.isFull).toBe(true)
  })
})

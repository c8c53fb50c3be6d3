import { describe, expect, it } from "vitest"
import {
  admittedKeysData,
  readAdmittedKeys,
  sinceKey,
  withNextKey
} from "../../../src/domain/outbound/admitted-keys.ts"

const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((digit) => digit.repeat(64)) as [
  string,
  string,
  string,
  string,
  string
]

describe("the keys with which a member may dial", () => {
  it("are kept in its Secret, and what is no key there admits nobody", () => {
    expect(readAdmittedKeys(admittedKeysData([b, a]))).toEqual([b, a])
    expect(readAdmittedKeys({ keys: btoa(`${a} ${a.toUpperCase()} ${b.slice(1)} *`) })).toEqual([a])
    for (const data of [undefined, null, {}, { keys: "%" }]) expect(readAdmittedKeys(data)).toEqual([])
  })

  it("are those that it has asked for since the one in use, which is never lost", () => {
    const asked = [b, c, d, e].reduce(withNextKey, [a])
    expect(asked).toEqual([e, d, c, a])
    expect(withNextKey(asked, e)).toEqual(asked)
    expect(sinceKey(asked, d)).toEqual([e, d])
    expect(sinceKey(asked, a)).toBe(asked)
    expect(sinceKey(asked, b)).toBe(asked)
  })
})

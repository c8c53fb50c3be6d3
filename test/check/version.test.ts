import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { compareVersions, isVersion } from "../../scripts/release/version.mjs"

const number = fc.nat({ max: 12 }).map(String)
const identifier = fc.oneof(number, fc.constantFrom("alpha", "beta", "rc", "rc1", "x-y", "0a"))
const version = fc
  .tuple(number, number, number, fc.array(identifier, { maxLength: 3 }))
  .map(
    ([major, minor, patch, before]) => `${major}.${minor}.${patch}${before.length === 0 ? "" : `-${before.join(".")}`}`
  )

describe("versions", () => {
  it("come in the order of semver.org §11", () => {
    const ordered = [
      "0.9.9",
      "1.0.0-alpha",
      "1.0.0-alpha.1",
      "1.0.0-alpha.beta",
      "1.0.0-beta",
      "1.0.0-beta.2",
      "1.0.0-beta.11",
      "1.0.0-rc.1",
      "1.0.0",
      "1.0.1",
      "1.2.0",
      "1.10.0",
      "2.0.0"
    ]
    for (const [i, a] of ordered.entries())
      for (const [j, b] of ordered.entries())
        expect([a, b, Math.sign(compareVersions(a, b))]).toEqual([a, b, Math.sign(i - j)])
  })
  it("have one order, whichever is asked first and whatever stands between", () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(compareVersions(a, a)).toBe(0)
        expect(compareVersions(a, b) + compareVersions(b, a)).toBe(0)
        if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0)
          expect(compareVersions(a, c)).toBeLessThanOrEqual(0)
        expect(compareVersions(a, b) === 0).toBe(a === b)
      })
    )
  })
  it.each(["0.1.0", "10.20.30", "1.0.0-rc.1", "1.0.0-0a.x-y", "99999999999999999999.0.0"])("%s is one", (text) =>
    expect(isVersion(text)).toBe(true)
  )
  it.each([
    "",
    "1",
    "1.2",
    "1.2.3.4",
    "v1.2.3",
    "01.2.3",
    "1.2.03",
    "1.2.3-",
    "1.2.3-01",
    "1.2.3-a..b",
    "1.2.3+build",
    "1.2.3 ",
    "1.2.x",
    "1.2.3\n"
  ])("%j is none", (text) => expect(isVersion(text)).toBe(false))
})

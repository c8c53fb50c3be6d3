import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { semver } from "../../../src/domain/protocol/shape.ts"
import {
  atLeast,
  compareVersions,
  gate,
  minVersion,
  protocolVersion,
  unannouncedVersion
} from "../../../src/domain/protocol/version.ts"
import { arbitraryOf } from "./arbitrary.ts"

const ascending = [
  "0.9.9",
  "1.0.0-0",
  "1.0.0-2",
  "1.0.0-10",
  "1.0.0-alpha",
  "1.0.0-alpha.1",
  "1.0.0-alpha.beta",
  "1.0.0-beta",
  "1.0.0-beta.2",
  "1.0.0-beta.11",
  "1.0.0-rc.1",
  "1.0.0",
  "1.0.0+1",
  "1.0.0+build",
  "1.2.0",
  "1.10.0",
  "1.29.0",
  "2.0.0",
  "18446744073709551615.0.0"
]

describe("precedence", () => {
  it("follows semver, pre-releases and numbers beyond 2^53 included", () => {
    for (const [i, a] of ascending.entries()) {
      for (const [j, b] of ascending.entries())
        expect([a, b, Math.sign(compareVersions(a, b))]).toEqual([a, b, Math.sign(i - j)])
    }
    expect(compareVersions("9007199254740993.0.0", "9007199254740992.0.0")).toBeGreaterThan(0)
  })
  const version = arbitraryOf(semver)
  it("is a total order", () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(compareVersions(a, a)).toBe(0)
        expect(Math.sign(compareVersions(a, b)) + Math.sign(compareVersions(b, a))).toBe(0)
        if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0)
          expect(compareVersions(a, c)).toBeLessThanOrEqual(0)
      })
    )
  })
  it("minVersion is the lower of two", () => {
    expect(minVersion("1.9.0", "1.10.0")).toBe("1.9.0")
    expect(minVersion("1.29.0", "1.29.0-rc.1")).toBe("1.29.0-rc.1")
  })
})

describe("requirements", () => {
  it("are met from the version on", () => {
    expect(atLeast("1.19.8", gate.operatorPing)).toBe(true)
    expect(atLeast("1.19.7", gate.operatorPing)).toBe(false)
    expect(atLeast("1.29.0+build", gate.shareLink)).toBe(true)
  })
  it("are never met by a pre-release", () => {
    fc.assert(
      fc.property(arbitraryOf(semver), (version) => {
        const pre = version.split("+")[0]?.includes("-") === true
        if (pre) for (const least of Object.values(gate)) expect(atLeast(version, least)).toBe(false)
      })
    )
    expect(atLeast("2.0.0-rc.1", "1.0.0")).toBe(false)
    expect(atLeast("1.0.0-1", "1.0.0-0")).toBe(false)
  })
  it("are all met by what we speak, and none by a client that has announced nothing", () => {
    for (const least of Object.values(gate)) {
      expect([least, atLeast(protocolVersion, least)]).toEqual([least, true])
      expect([least, atLeast(unannouncedVersion, least)]).toEqual([least, false])
    }
  })
})

import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import {
  clusterName,
  clusterNamesCollide,
  clusterSlug,
  credentialsSecretName,
  refreshedSecretName
} from "../../../src/domain/fleet/cluster-name.ts"
import { childName, parentName, sessionIdOfParent } from "../../../src/domain/sessions/names.ts"
import {
  parseSessionIdHeader,
  parseSessionReference,
  sessionId,
  sessionIdHex,
  sessionIdName
} from "../../../src/domain/sessions/session-id.ts"

const anyId = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(sessionId)
const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u

describe("session id", () => {
  it("reads the header in decimal and prints both hex forms", () => {
    const id = Result.getOrThrow(parseSessionIdHeader("5602009181180371308"))
    expect(sessionIdHex(id)).toBe("4DBE55AB68BBA16C")
    expect(parentName(sessionId(0x4dbe55ab68bba16cn))).toBe("mc-4dbe55ab68bba16c")
    expect(sessionIdName(sessionId(255n))).toBe("00000000000000ff")
    expect(sessionIdHex(sessionId(255n))).toBe("FF")
  })

  it.each([
    [undefined, "Missing"],
    ["", "Missing"],
    ["abc", "NotDecimal"],
    ["-1", "NotDecimal"],
    ["1 2", "NotDecimal"],
    ["1.5", "NotDecimal"],
    ["18446744073709551616", "OutOfRange"],
    ["9".repeat(10_000), "OutOfRange"]
  ])("refuses the header %j", (text, tag) => {
    const result = parseSessionIdHeader(text)
    expect(Result.isFailure(result) && result.failure._tag).toBe(tag)
    if (Result.isFailure(result)) {
      expect(result.failure.message).toContain("x-session-id")
      expect(result.failure.message.length).toBeLessThan(200)
    }
  })

  it("round-trips every id through the header and through every form that DELETE may carry", () => {
    fc.assert(
      fc.property(anyId, (id) => {
        expect(parseSessionIdHeader(id.toString())).toEqual(Result.succeed(id))
        const hex = sessionIdHex(id)
        expect(Result.getOrThrow(parseSessionReference(hex))[0]).toBe(id)
        for (const text of [id.toString(), `mc-${sessionIdName(id)}`, `mc-copy-${hex.toLowerCase()}`]) {
          expect(Result.getOrThrow(parseSessionReference(text))).toContain(id)
        }
        expect(sessionIdOfParent(parentName(id))).toBe(id)
      })
    )
  })

  it("gives the listed form first where a text is hex and decimal at once", () => {
    expect(Result.getOrThrow(parseSessionReference("1234567890123456"))).toEqual([
      0x1234567890123456n,
      1234567890123456n
    ])
    expect(Result.getOrThrow(parseSessionReference("7"))).toEqual([7n])
  })

  it.each(["", "mc-", "mc-xyz", "operator", "12345678901234567890123", "mc-4dbe55ab68bba16c-cluster-a"])(
    "refuses the reference %j",
    (text) => expect(Result.isFailure(parseSessionReference(text))).toBe(true)
  )
})

describe("names of children", () => {
  it("are <parent>-<cluster> for a DNS label", () =>
    expect(childName("mc-4dbe55ab68bba16c", clusterName("remote-1"), sha256Hex)).toBe("mc-4dbe55ab68bba16c-remote-1"))

  it("get a slug and 6 hex digits of SHA-256 where the cluster's name is no DNS label", () => {
    expect(clusterSlug(clusterName("A_b"), sha256Hex)).toBe(`a-b-${sha256Hex("A_b").slice(0, 6)}`)
    expect(clusterSlug(clusterName("___"), sha256Hex)).toBe(`c-${sha256Hex("___").slice(0, 6)}`)
    expect(clusterSlug(clusterName("a.b"), sha256Hex)).toBe(`a-b-${sha256Hex("a.b").slice(0, 6)}`)
    expect(credentialsSecretName(clusterName("staging"), sha256Hex)).toBe("mirrord-cluster-staging")
  })

  it("are legal and short for any cluster name", () => {
    fc.assert(
      fc.property(anyId, fc.string({ minLength: 1, maxLength: 253, unit: "grapheme" }), (id, text) => {
        const name = clusterName(text)
        expect(clusterSlug(name, sha256Hex)).toMatch(label)
        expect(childName(parentName(id), name, sha256Hex).length).toBeLessThanOrEqual(83)
      })
    )
  })

  it("differ for different clusters and for different parents", () => {
    const eksName = fc.stringMatching(/^[A-Za-z0-9][-A-Za-z0-9_]{0,20}$/u)
    fc.assert(
      fc.property(eksName, eksName, anyId, anyId, (one, other, id, otherId) => {
        if (one !== other) expect(clusterNamesCollide(clusterName(one), clusterName(other), sha256Hex)).toBe(false)
        if (id !== otherId) {
          const child = childName(parentName(otherId), clusterName(other), sha256Hex)
          expect(childName(parentName(id), clusterName(one), sha256Hex)).not.toBe(child)
        }
      }),
      { numRuns: 2000 }
    )
  })

  it("collide only where slug and hash do, and that is told", () => {
    const crafted = `a-b-${sha256Hex("A_b").slice(0, 6)}`
    expect(clusterNamesCollide(clusterName("A_b"), clusterName(crafted), sha256Hex)).toBe(true)
    expect(clusterNamesCollide(clusterName("A_b"), clusterName("a.b"), () => "00000000")).toBe(true)
    const [name, refreshed] = [clusterName("a"), clusterName("a-refreshed")]
    expect(clusterNamesCollide(name, refreshed, sha256Hex)).toBe(true)
    expect(clusterNamesCollide(refreshed, name, sha256Hex)).toBe(true)
    expect(refreshedSecretName(name, sha256Hex)).toBe(credentialsSecretName(refreshed, sha256Hex))
  })
})

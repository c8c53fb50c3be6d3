import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { clusterName, clusterNameProblem } from "../../../src/domain/fleet/cluster-name.ts"
import {
  parseToken,
  readStoredToken,
  storedTokenData,
  tokenText
} from "../../../src/domain/outbound/bootstrap-token.ts"

const id = "k3v9x0a1bz"
const secret = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-_8"
const token = { name: clusterName("b"), id, secret }
const names = fc
  .oneof(fc.constantFrom("a.b", "arn:aws:eks:eu-1:1:cluster/B", "käse 1", "braid1.b"), fc.string({ unit: "binary" }))
  .filter((name) => clusterNameProblem(name) === undefined && !/\p{Cs}/u.test(name))

describe("a bootstrap token", () => {
  it("has the published form, and is read with the line break of its file", () => {
    expect(tokenText(token)).toBe(`braid1.b.${id}.${secret}`)
    expect(parseToken(` braid1.b.${id}.${secret}\n`)).toEqual(Result.succeed(token))
  })

  it("is read as it was written, whatever the cluster's name is", () =>
    fc.assert(
      fc.property(names, (name) => {
        const given = { ...token, name: clusterName(name) }
        expect(parseToken(tokenText(given))).toEqual(Result.succeed(given))
      })
    ))

  it.each([
    ["", /^the token is empty; copy the whole/],
    [`braid2.b.${id}.${secret}`, /^the token has the form braid2, .* reads braid1; update it$/],
    [`Braid1.b.${id}.${secret}`, /does not begin with `braid1\.`/],
    [secret, /does not begin with `braid1\.`/],
    [`braid1.${id}.${secret}`, /^the token has 3 parts of 4; /],
    [`braid1.b.${id.toUpperCase()}.${secret}`, /^the third part/],
    [`braid1.b.${id}x.${secret}`, /^the third part/],
    [`braid1.b.${id}.${secret.slice(1)}`, /^the last part of the token has 42 characters/],
    [`braid1.b.${id}.${secret}A`, /has 44 characters/],
    [`braid1.b.${id}.${secret.replace("-", "+")}`, /^the last part/],
    [`braid1..${id}.${secret}`, /^the token's second part is no name: a cluster needs a name; copy/],
    [`braid1.b\u0000.${id}.${secret}`, /control characters/],
    // Copied in pieces: the secret stands where the id is, or the name.
    [`braid1.b.${secret}.${id}`, /^the third part/],
    [`braid1.${secret}\n.${id}.${secret}`, /control characters/]
  ])("that is %j is refused by a sentence without the secret", (text, sentence) => {
    const failure = Result.getOrThrow(Result.flip(parseToken(text)))
    expect(failure).toMatch(sentence)
    expect(failure.replaceAll(/\s/gu, "")).not.toContain(secret.slice(1, 20))
  })
})

describe("a stored token", () => {
  const stored = { id, name: token.name, hash: "0f".repeat(32), until: Date.UTC(2026, 0, 1), by: "jane@example.com" }

  it("is in the Secret's data as base64, without the secret, and is read from there", () => {
    const data = storedTokenData(stored)
    expect(data["until"]).toBe(btoa("2026-01-01T00:00:00.000Z"))
    expect(readStoredToken(data)).toEqual(stored)
    const careless = { ...stored, name: clusterName("käse"), by: "a\u001bb" }
    expect(readStoredToken(storedTokenData(careless))).toEqual({ ...careless, by: "a\u{fffd}b" })
  })

  it.each<Readonly<Record<string, string>>>([
    { id: btoa("short") },
    { name: btoa(" ") },
    { hash: btoa("0f") },
    { hash: btoa("0F".repeat(32)) },
    { until: btoa("soon") },
    { hash: "%" }
  ])("with %j is none", (change) => expect(readStoredToken({ ...storedTokenData(stored), ...change })).toBeUndefined())

  it("is not in a Secret without data", () => {
    expect(readStoredToken(null)).toBeUndefined()
    expect(readStoredToken({})).toBeUndefined()
  })
})

import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { encodeBase64Text } from "../../../../src/domain/fleet/credentials/base64.ts"
import { readTokenClaims } from "../../../../src/domain/fleet/credentials/token-claims.ts"
import { timeOf, timestamp } from "../../../../src/domain/resources/object-meta.ts"

const url = (text: string): string =>
  encodeBase64Text(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
const jwt = (claims: unknown): string => [url('{"alg":"RS256"}'), url(JSON.stringify(claims)), "signature"].join(".")

describe("claims of a token", () => {
  it("of a service account are its name and its life", () => {
    const token = jwt({
      sub: "system:serviceaccount:mirrord:mirrord-operator-envoy",
      iat: 100,
      nbf: 110,
      exp: 200,
      "kubernetes.io": { serviceaccount: { uid: "u" } }
    })
    expect(readTokenClaims(token)).toEqual({
      subject: "system:serviceaccount:mirrord:mirrord-operator-envoy",
      account: { namespace: "mirrord", name: "mirrord-operator-envoy" },
      uid: "u",
      issuedAt: 100_000,
      validity: { from: 110_000, until: 200_000 }
    })
  })

  it("may be missing", () => {
    expect(readTokenClaims(jwt({ sub: 5, iat: 100, exp: "soon" }))).toEqual({
      subject: undefined,
      account: undefined,
      uid: undefined,
      issuedAt: 100_000,
      validity: { from: 100_000, until: undefined }
    })
  })

  it.each(["", "token", "a.b", "a.b.c", `a.${url("[1]")}.c`, `a.${url("null")}.c`, `a.${url("{")}.c`])(
    "are none in %j",
    (token) => expect(readTokenClaims(token)).toBeUndefined()
  )

  it("are those that were put in, whatever characters they need", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.nat(), (sub, exp) => {
        expect(readTokenClaims(jwt({ sub, exp }))).toMatchObject({
          subject: sub,
          validity: { from: undefined, until: exp * 1000 }
        })
      })
    )
  })

  it.each([1e15, 1e300, -1e15])("are times that can be printed, with exp %d as well", (exp) => {
    const { validity } = readTokenClaims(jwt({ exp, iat: exp })) ?? {}
    expect(timeOf(timestamp(validity?.until ?? 0))).toBe(validity?.until)
    expect(timestamp(validity?.until ?? 0)).toMatch(/^\d{4}-/u)
    expect(validity?.from).toBe(validity?.until)
  })

  it("never throw", () => fc.assert(fc.property(fc.string(), (token) => void readTokenClaims(`a.${token}.b`))))
})

import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { makeClientCertificate } from "../../../../lab/simulation/world/client-certificate.ts"
import { readClientPair } from "../../../../src/adapters/x509/client-certificate.ts"

const life = { from: Date.UTC(2026, 0, 1), until: Date.UTC(2026, 0, 1, 0, 10) }
const make = (serial: number) => makeClientCertificate({ subject: "envoy at b", serial, secret: "canary", ...life })

describe("a client certificate of a simulated member", () => {
  it("is one that the operator can use, with its beginning and its end", () => {
    const pair = make(1)
    expect(readClientPair(pair)).toEqual(Result.succeed(life))
    expect(readClientPair({ ...pair, keyPem: make(2).keyPem })).toMatchObject({ _tag: "Failure" })
  })

  it("is the same each time, with a secret that a leak would show", () => {
    expect(make(1)).toEqual(make(1))
    expect(make(1).certificatePem).not.toBe(make(70_000).certificatePem)
    expect(make(1).keyPem).toContain("canary")
  })
})

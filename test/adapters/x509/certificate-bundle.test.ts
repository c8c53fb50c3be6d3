import { X509Certificate } from "node:crypto"
import { describe, expect, it } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { leadsTo, readBundle } from "../../../src/adapters/x509/certificate-bundle.ts"

describe("a bundle of authorities", () => {
  it("is read whole, whatever stands between its certificates; what is none is an error", async () => {
    const [one, two] = await Promise.all([createAuthority("one", Date.now), createAuthority("two", Date.now)])
    expect(readBundle(`# ours\n${one.caPem}\n\ntheirs:\n${two.caPem}`).map(({ subject }) => subject)).toEqual([
      "CN=one",
      "CN=two"
    ])
    expect(() => readBundle("")).toThrow("no PEM certificate")
    expect(() => readBundle(`${one.caPem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`)).toThrow(/asn1/)
  })

  it("vouches for what one of its authorities signed, and for nothing else of the same name", async () => {
    const [one, two, namesake] = await Promise.all([
      createAuthority("one", Date.now),
      createAuthority("two", Date.now),
      createAuthority("one", Date.now)
    ])
    const certificate = new X509Certificate((await one.issue({ commonName: "front-proxy-client" })).certPem)
    const vouches = (...authorities: ReadonlyArray<{ readonly caPem: string }>): boolean =>
      leadsTo(
        certificate,
        authorities.flatMap(({ caPem }) => readBundle(caPem))
      )
    expect([vouches(one), vouches(two, one), vouches(two), vouches(namesake), vouches()]).toEqual([
      true,
      true,
      false,
      false,
      false
    ])
  })
})

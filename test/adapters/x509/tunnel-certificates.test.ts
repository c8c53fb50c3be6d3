import "reflect-metadata"
import { createPrivateKey, type KeyObject, webcrypto, X509Certificate } from "node:crypto"
import * as x509 from "@peculiar/x509"
import { Redacted, Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readAgentCertificate } from "../../../src/adapters/x509/agent-certificate.ts"
import { leadsTo, readBundle } from "../../../src/adapters/x509/certificate-bundle.ts"
import { makeServingCertificate, readServingLife } from "../../../src/adapters/x509/serving-certificate.ts"
import {
  cellProblem,
  makeOutpostRequest,
  makeTunnelAuthority,
  pinOf,
  readMemberCertificate,
  signCell,
  signOutpost
} from "../../../src/adapters/x509/tunnel-certificates.ts"
import {
  issueUserCertificate,
  makeUserAuthority,
  verifyUserCertificate
} from "../../../src/adapters/x509/user-certificates.ts"
import { clusterName, clusterNameProblem } from "../../../src/domain/fleet/cluster-name.ts"
import { makeAgentTls } from "../../support/agent-tls.ts"
import { certificateRequest } from "../../support/user-certificate.ts"

const now = Date.now()
const life = { from: now - 60_000, until: now + 86_400_000 }
const wholeSeconds = (ms: number): number => Math.floor(ms / 1_000) * 1_000
const authority = await makeTunnelAuthority(life)
const { keyPem, requestPem } = await makeOutpostRequest()
const name = clusterName("cluster-b")
const outpost = Result.getOrThrow(await signOutpost(authority, { requestPem, name, life }))
const cell = await signCell(authority, ["cell.example.com"], life)

const pem = (label: string, der: Uint8Array): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(der).toString("base64")}\n-----END ${label}-----\n`

const newPair = (namedCurve: string): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey({ name: "ECDSA", namedCurve }, true, ["sign", "verify"])

const requestWith = async (
  keys: webcrypto.CryptoKeyPair,
  more: Partial<x509.Pkcs10CertificateRequestCreateParams> = {}
): Promise<x509.Pkcs10CertificateRequest> =>
  x509.Pkcs10CertificateRequestGenerator.create(
    { keys, signingAlgorithm: { name: "ECDSA", hash: "SHA-256" }, ...more },
    webcrypto
  )

describe("certificates of tunnels", () => {
  it("an outpost gets one for clients, with its name in one URI, for the key that it made", () => {
    const certificate = new X509Certificate(outpost)
    expect(leadsTo(certificate, readBundle(authority.certificatePem))).toBe(true)
    expect(certificate.subject).toBe("CN=cluster-b")
    expect(certificate.subjectAltName).toBe("URI:braid:cluster:cluster-b")
    expect(certificate.ca).toBe(false)
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"])
    expect(certificate.checkPrivateKey(createPrivateKey(Redacted.value(keyPem)))).toBe(true)
    const found = { name, keyId: pinOf(outpost), until: wholeSeconds(life.until) }
    expect(readMemberCertificate(certificate)).toEqual(Result.succeed(found))
    expect(readMemberCertificate(certificate.raw)).toEqual(Result.succeed(found))
  })

  it("its authority signs leaves and the next authority, and each has a key and a name of its own", async () => {
    const [certificate, other] = [authority, await makeTunnelAuthority(life)].map(
      ({ certificatePem }) => new X509Certificate(certificatePem)
    )
    const parsed = new x509.X509Certificate(authority.certificatePem)
    expect(parsed.getExtension(x509.BasicConstraintsExtension)).toMatchObject({
      ca: true,
      pathLength: 1,
      critical: true
    })
    expect(parsed.getExtension(x509.KeyUsagesExtension)?.usages).toBe(x509.KeyUsageFlags.keyCertSign)
    expect(certificate?.subject).not.toBe(other?.subject)
    expect(pinOf(authority.certificatePem)).toMatch(/^[0-9a-f]{64}$/)
    expect(pinOf(authority.certificatePem)).not.toBe(pinOf(String(other)))
  })

  it("a cell shows its authority behind its own", () => {
    const [leaf, second, ...others] = readBundle(cell.certificatePem)
    expect(leaf?.subjectAltName).toBe("URI:braid:cell, DNS:cell.example.com")
    expect(leaf?.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"])
    expect(second?.raw).toEqual(new X509Certificate(authority.certificatePem).raw)
    expect(others).toEqual([])
    expect(cellProblem(new X509Certificate(cell.certificatePem))).toBeUndefined()
    expect(String(cell.keyPem) + JSON.stringify([authority, cell])).not.toContain("PRIVATE")
  })

  it("carries every name that a cluster can have, and no other", async () => {
    const names = fc
      .string({ unit: "grapheme", maxLength: 80 })
      .filter((text) => clusterNameProblem(text) === undefined)
    await fc.assert(
      fc.asyncProperty(names, async (text) => {
        const signed = await signOutpost(authority, { requestPem, name: clusterName(text), life })
        const read = Result.flatMap(signed, (one) => readMemberCertificate(new X509Certificate(one)))
        expect(read).toMatchObject({ success: { name: text } })
      }),
      { numRuns: 20, examples: [["#0401ff"], [" a=b, CN=c+d "], ["arn:aws:eks:x:1:cluster/a"], ["a%2fb"]] }
    )
  })

  it("of a request, takes the key alone: no name, no extension", async () => {
    const wish = await requestWith(await newPair("P-256"), {
      name: "CN=cluster-a, O=system:masters",
      extensions: [
        new x509.BasicConstraintsExtension(true, 3, true),
        new x509.SubjectAlternativeNameExtension([{ type: "url", value: "braid:cluster:cluster-a" }])
      ]
    })
    const signed = Result.getOrThrow(await signOutpost(authority, { requestPem: wish.toString("pem"), name, life }))
    const certificate = new X509Certificate(signed)
    expect(certificate.ca).toBe(false)
    expect(certificate.subject).toBe("CN=cluster-b")
    expect(certificate.subjectAltName).toBe("URI:braid:cluster:cluster-b")
  })

  const changed = async (): Promise<string> => {
    const der = new Uint8Array((await requestWith(await newPair("P-256"))).rawData)
    der[der.length - 1] = (der.at(-1) ?? 0) ^ 1
    return pem("CERTIFICATE REQUEST", der)
  }
  const p384 = async (): Promise<string> => (await requestWith(await newPair("P-384"))).toString("pem")
  const rsa = async (): Promise<string> => {
    const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }
    const made = { ...algorithm, modulusLength: 1024, publicExponent: Uint8Array.of(1, 0, 1) }
    const keys = await webcrypto.subtle.generateKey(made, true, ["sign", "verify"])
    return (await requestWith(keys, { signingAlgorithm: algorithm })).toString("pem")
  }
  const large = async (): Promise<string> =>
    (await requestWith(await newPair("P-256"), { name: `CN=${"x".repeat(9_000)}` })).toString("pem")
  it.each([
    ["is no PEM", () => "hello", /is not PEM/],
    ["is a certificate", () => outpost, /is not PEM/],
    ["is garbage", () => pem("CERTIFICATE REQUEST", Buffer.from("garbage")), /cannot be read \(.+\)/],
    ["is for RSA", rsa, /holds a key of RSASSA-PKCS1-v1_5.*; a tunnel has one on the curve P-256/],
    ["is for another curve", p384, /holds a key of ECDSA P-384;/],
    ["is a user's", () => certificateRequest("laptop"), /cannot be read|holds a key of/],
    ["was changed after it was signed", changed, /not signed with the key|cannot be read/],
    ["is larger than any outpost's", large, /has 9\d\d\d bytes; at most 8192 are taken/]
  ])("a request is refused that %s", async (_what, make, problem) => {
    const signed = await signOutpost(authority, { requestPem: await make(), name, life })
    expect(signed).toMatchObject({ failure: expect.stringMatching(problem) })
  })
})

/** A certificate with these names and extensions, of the tunnels' authority by its look. */
const forged = async (
  subject: x509.Name,
  extensions: ReadonlyArray<x509.Extension>,
  keys = newPair("P-256")
): Promise<X509Certificate> => {
  const { privateKey: signingKey, publicKey } = await keys
  const dates = { notBefore: new Date(life.from), notAfter: new Date(life.until) }
  const signed = await x509.X509CertificateGenerator.create(
    {
      ...dates,
      subject,
      issuer: "CN=braid tunnel authority",
      serialNumber: "01",
      publicKey,
      signingKey,
      signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
      extensions: [...extensions]
    },
    webcrypto
  )
  return new X509Certificate(new Uint8Array(signed.rawData))
}
const uris = (...values: ReadonlyArray<string>): x509.Extension =>
  new x509.SubjectAlternativeNameExtension(values.map((value) => ({ type: "url", value })))
const usage = (...usages: ReadonlyArray<x509.ExtendedKeyUsage>): x509.Extension =>
  new x509.ExtendedKeyUsageExtension([...usages])
const { clientAuth, serverAuth } = x509.ExtendedKeyUsage
const cn = (...names: ReadonlyArray<string>): x509.Name =>
  new x509.Name(names.map((one) => ({ CN: [{ utf8String: one }] })))

describe("a certificate that was not made for a member's tunnel", () => {
  const userAuthority = makeUserAuthority(now, new Uint8Array(16).fill(7))
  const user = Result.getOrThrow(
    issueUserCertificate(userAuthority, certificateRequest("cluster-b"), now, new Uint8Array(16).fill(8))
  )
  const b = "braid:cluster:b"
  it.each([
    ["a user's", () => new X509Certificate(user)],
    ["the users' authority", () => new X509Certificate(userAuthority.certificatePem)],
    ["a serving one", async () => new X509Certificate((await makeServingCertificate(["b"], life)).certificatePem)],
    ["an agent's", async () => new X509Certificate((await makeAgentTls()).certificatePem)],
    ["the cell's", () => new X509Certificate(cell.certificatePem)],
    ["the tunnels' authority", () => new X509Certificate(authority.certificatePem)],
    ["garbage", () => Buffer.from("garbage")],
    ["one for servers too", () => forged(cn("b"), [uris(b), usage(clientAuth, serverAuth)])],
    ["one without a purpose", () => forged(cn("b"), [uris(b)])],
    ["one with two names", () => forged(cn("b"), [uris(b, "braid:cluster:c"), usage(clientAuth)])],
    ["one with its name twice", () => forged(cn("b"), [uris(b), uris(b), usage(clientAuth)])],
    ["one with a foreign URI", () => forged(cn("b"), [uris("spiffe:cluster:b"), usage(clientAuth)])],
    ["one without a URI", () => forged(cn("b"), [usage(clientAuth)])],
    ["one whose URI is empty", () => forged(cn(""), [uris("braid:cluster:"), usage(clientAuth)])],
    ["one whose URI is no text", () => forged(cn("%ff"), [uris("braid:cluster:%ff"), usage(clientAuth)])],
    ["one with another common name", () => forged(cn("c"), [uris(b), usage(clientAuth)])],
    ["one with two common names", () => forged(cn("b", "c"), [uris(b), usage(clientAuth)])],
    [
      "an authority",
      () => forged(cn("b"), [uris(b), usage(clientAuth), new x509.BasicConstraintsExtension(true, 0, true)])
    ]
  ])("is refused: %s", async (_what, make) =>
    expect(readMemberCertificate(await make())).toMatchObject({
      failure: expect.stringMatching(/^this is not the certificate of a member's tunnel: .+; join the cluster again/)
    })
  )

  it("is not a cell's either, and a member's is none", async () => {
    const cells: ReadonlyArray<X509Certificate> = [
      new X509Certificate(outpost),
      new X509Certificate(authority.certificatePem),
      new X509Certificate((await makeServingCertificate(["braid:cell"], life)).certificatePem),
      await forged(cn("braid cell"), [uris("braid:cell"), usage(clientAuth)]),
      await forged(cn("braid cell"), [uris("braid:cell", "braid:cluster:b"), usage(serverAuth)])
    ]
    expect(cells.map(cellProblem)).not.toContain(undefined)
  })

  it("and a member's certificate is nothing but that: no user, no server, no agent", async () => {
    const header = new X509Certificate(outpost).raw.toString("base64")
    expect(verifyUserCertificate(userAuthority, header, now)).toMatchObject({ _tag: "Failure" })
    const { authorityPem } = await makeServingCertificate(["cluster-b"], life)
    const kept = { authorityPem, certificatePem: outpost, keyPem }
    expect(readServingLife(kept, "cluster-b")).toBeUndefined()
    const key: KeyObject = createPrivateKey(Redacted.value(keyPem))
    expect(readAgentCertificate(outpost, { keyPem, key })).toEqual({ _tag: "Foreign" })
  })
})

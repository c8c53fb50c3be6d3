import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto"
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import {
  type AgentKey,
  makeAgentCertificate,
  makeAgentKey,
  readAgentCertificate,
  readAgentKey
} from "../../../src/adapters/x509/agent-certificate.ts"

const life = { from: Date.UTC(2026, 0, 1), until: Date.UTC(2027, 0, 1) }

const newKey = async (): Promise<AgentKey> => {
  const key = readAgentKey(await makeAgentKey())
  if (key === undefined) throw new Error("the key that was made cannot be read")
  return key
}

describe("the operator's certificate for an agent", () => {
  it("is what the real agent takes: self-signed, of no authority, with one name, for servers", async () => {
    const key = await newKey()
    const pem = await makeAgentCertificate(key, "mirrord-agent-0123456789", life)
    const certificate = new X509Certificate(pem)
    expect(certificate.issuer).toBe(certificate.subject)
    expect(certificate.verify(certificate.publicKey)).toBe(true)
    expect(certificate.ca).toBe(false)
    expect(certificate.subjectAltName).toMatch(/^DNS:mirrord-agent-0123456789-[0-9a-f]{16}$/)
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"])
    expect(certificate.checkPrivateKey(key.key)).toBe(true)
    expect(pem).not.toContain("PRIVATE")
  })

  it("is read by the holder of its key alone", async () => {
    const [key, other] = [await newKey(), await newKey()]
    const pem = await makeAgentCertificate(key, "a", life)
    expect(readAgentCertificate(pem, key)).toEqual({
      _tag: "Ours",
      serverName: expect.stringMatching(/^a-[0-9a-f]{16}$/),
      life
    })
    expect(readAgentCertificate(pem, other)).toEqual({ _tag: "Foreign" })
    expect(readAgentCertificate("no certificate", key)).toEqual({ _tag: "Foreign" })
    // TLS would read further than the first certificate.
    const more = `${pem}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`
    expect(readAgentCertificate(more, key)).toEqual({ _tag: "Foreign" })
    expect(readAgentCertificate(undefined, key)).toEqual({ _tag: "None" })
  })

  it("is another for each agent, the same key or not", async () => {
    const key = await newKey()
    const [one, two] = [await makeAgentCertificate(key, "a", life), await makeAgentCertificate(key, "a", life)]
    expect(new X509Certificate(one).serialNumber).not.toBe(new X509Certificate(two).serialNumber)
    expect(new X509Certificate(one).subjectAltName).not.toBe(new X509Certificate(two).subjectAltName)
  })
})

describe("the operator's key towards agents", () => {
  it("does not print itself", async () => {
    const key = await makeAgentKey()
    expect(String(key) + JSON.stringify({ key })).not.toContain("PRIVATE")
    expect(createPrivateKey(Redacted.value(key)).asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" })
  })

  it.each([
    ["no key", "x"],
    [
      "an RSA key",
      generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" })
    ],
    [
      "a key on another curve",
      generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey.export({ type: "pkcs8", format: "pem" })
    ]
  ])("is not %s", (_what, text) => expect(readAgentKey(Redacted.make(String(text)))).toBeUndefined())
})

/**
 * Makes the certificates that agents know the operator by, and the one key of all of them; reads them again.
 *
 * A certificate is self-signed and for one agent: an agent trusts exactly the certificate that it was started with, and
 * takes no authority for one (agent.md §3.9). Not here: where the key is kept (app/certificates/agent-identity.ts), and
 * the handshake (adapters/agents/secure-agent.ts).
 */

import { createPrivateKey, type KeyObject, randomBytes, X509Certificate } from "node:crypto"
import { Redacted } from "effect"
import type { AgentCertificate } from "../../domain/agents/agent-transport.ts"
import type { ServingLife } from "../../domain/fleet/credentials/serving-renewal.ts"
import { importKeys, makeKeys, privateKeyPem, serverExtensions, signCertificate } from "./sign-certificate.ts"

/** The key of the operator towards agents. */
export interface AgentKey {
  readonly keyPem: Redacted.Redacted
  readonly key: KeyObject
}

/** Makes a new key, PEM. */
export const makeAgentKey = async (): Promise<Redacted.Redacted> => privateKeyPem((await makeKeys(true)).privateKey)

/** The key of a kept PEM text; undefined if that is none on the curve P-256. */
export const readAgentKey = (keyPem: Redacted.Redacted): AgentKey | undefined => {
  try {
    const key = createPrivateKey(Redacted.value(keyPem))
    return key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? { keyPem, key } : undefined
  } catch {
    return undefined
  }
}

/**
 * The certificate of the operator for one agent, PEM. Its only name is the agent's with a random end: a peer that asks
 * for this name has read the agent's certificate.
 */
export const makeAgentCertificate = async (key: AgentKey, agent: string, life: ServingLife): Promise<string> => {
  const signer = await importKeys(key.key)
  const name = `${agent}-${randomBytes(8).toString("hex")}`
  return signCertificate({
    subject: `CN=${name}`,
    issuer: `CN=${name}`,
    life,
    publicKey: signer.publicKey,
    signer,
    extensions: serverExtensions([name])
  })
}

const withoutBlanks = (text: string): string => text.replaceAll(/\s/gu, "")

/** Judges the certificate of an agent's Job for the holder of this key. */
export const readAgentCertificate = (certificatePem: string | undefined, { key }: AgentKey): AgentCertificate => {
  if (certificatePem === undefined) return { _tag: "None" }
  try {
    const certificate = new X509Certificate(certificatePem)
    const [, serverName] = /^DNS:([-a-z0-9.]+)$/u.exec(certificate.subjectAltName ?? "") ?? []
    const isAlone = withoutBlanks(certificate.toString()) === withoutBlanks(certificatePem)
    if (serverName === undefined || !isAlone || !certificate.checkPrivateKey(key)) return { _tag: "Foreign" }
    const life = { from: certificate.validFromDate.getTime(), until: certificate.validToDate.getTime() }
    return { _tag: "Ours", serverName, life }
  } catch {
    return { _tag: "Foreign" }
  }
}

/**
 * Certificate authorities of the cluster: they issue X.509 certificates for servers and clients. For stand-ins and
 * tests only: no revocation, no renewal, keys in memory.
 */

import "reflect-metadata"
import { randomBytes, webcrypto } from "node:crypto"
import {
  BasicConstraintsExtension,
  type Extension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  AuthorityKeyIdentifierExtension,
  X509CertificateGenerator
} from "@peculiar/x509"

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const
const day = 24 * 3600 * 1000

/** A certificate (X.509 v3) with its PKCS #8 key, both PEM. */
export interface KeyPair {
  readonly certPem: string
  readonly keyPem: string
}

interface Signer extends KeyPair {
  readonly keys: webcrypto.CryptoKeyPair
  readonly name: Name
}

export interface CertificateRequest {
  readonly commonName: string
  readonly organizations?: ReadonlyArray<string>
  /** DNS names and IP addresses of a server; a certificate without any is a client's. */
  readonly sans?: ReadonlyArray<{ readonly type: "dns" | "ip"; readonly value: string }>
}

export interface CertificateAuthority {
  readonly caPem: string
  readonly issue: (request: CertificateRequest) => Promise<KeyPair>
}

const nameOf = ({ commonName, organizations = [] }: CertificateRequest): Name =>
  new Name([...organizations.map((organization) => ({ O: [organization] })), { CN: [commonName] }])

const generateKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey({ name: algorithm.name, namedCurve: algorithm.namedCurve }, true, ["sign", "verify"])

const keyPem = async (key: webcrypto.CryptoKey): Promise<string> => {
  const base64 = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", key)).toString("base64")
  return `-----BEGIN PRIVATE KEY-----\n${(base64.match(/.{1,64}/g) ?? []).join("\n")}\n-----END PRIVATE KEY-----\n`
}

const serialNumber = (): string => `01${randomBytes(15).toString("hex")}`

const createCertificate = async (
  request: CertificateRequest,
  extensions: Array<Extension>,
  now: number,
  issuer: Signer | undefined
): Promise<Signer> => {
  const keys = await generateKeys()
  const subject = nameOf(request)
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: serialNumber(),
      subject,
      issuer: issuer?.name ?? subject,
      // Valid since an hour ago, for machines whose clocks differ a little.
      notBefore: new Date(now - 3600 * 1000),
      notAfter: new Date(now + 3650 * day),
      publicKey: keys.publicKey,
      signingKey: (issuer?.keys ?? keys).privateKey,
      signingAlgorithm: algorithm,
      extensions: [
        ...extensions,
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
        await AuthorityKeyIdentifierExtension.create((issuer?.keys ?? keys).publicKey, false, webcrypto)
      ]
    },
    webcrypto
  )
  return { keys, name: subject, certPem: `${certificate.toString("pem")}\n`, keyPem: await keyPem(keys.privateKey) }
}

/** A new authority. Its certificates are valid for ten years from `now` (epoch ms). */
export const createAuthority = async (commonName: string, now: () => number): Promise<CertificateAuthority> => {
  const authority = await createCertificate(
    { commonName },
    [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature, true)
    ],
    now(),
    undefined
  )
  return {
    caPem: authority.certPem,
    issue: async (request) => {
      const sans = request.sans ?? []
      const { certPem, keyPem: key } = await createCertificate(
        request,
        [
          new BasicConstraintsExtension(false, undefined, true),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([sans.length > 0 ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth]),
          ...(sans.length > 0 ? [new SubjectAlternativeNameExtension([...sans])] : [])
        ],
        now(),
        authority
      )
      return { certPem, keyPem: key }
    }
  }
}

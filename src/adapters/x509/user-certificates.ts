/**
 * Issues and checks user certificates of mirrord's own credential flow (operator-api.md §5). Users' rights, and where
 * the authority is kept, are not its business.
 */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify
} from "node:crypto"
import { CertificationRequest } from "@peculiar/asn1-csr"
import { AsnConvert, OctetString } from "@peculiar/asn1-schema"
import {
  AlgorithmIdentifier,
  Certificate,
  Extension,
  Extensions,
  BasicConstraints,
  Name,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version
} from "@peculiar/asn1-x509"
import { Result } from "effect"
import { withoutEnd } from "../../domain/clean-text.ts"
import { pemBlocks } from "../../domain/fleet/credentials/pem.ts"

/**
 * The authority signs with RSA, and a CSR's key bytes are copied as they are, because of two oddities of the real
 * client. Its CSR carries an Ed25519 key under X25519's object identifier with a NULL parameter, which OpenSSL refuses
 * to parse. It also re-encodes the certificate before sending it back, and adds NULL to algorithm identifiers without
 * parameters. RSA's identifiers have the NULL anyway, so the bytes come back unchanged.
 */

/** The certificate authority that signs users' certificates; kept in a Secret. */
export interface UserAuthority {
  readonly certificatePem: string
  readonly keyPem: string
  /** Changes exactly when the authority does: clients cache their certificate under it (operator-api.md §5.6). */
  readonly fingerprint: string
}

export interface VerifiedUser {
  /** Standard base64 without padding of the 32 key bytes, as the client computes it. */
  readonly userId: string
  readonly commonName: string
}

/** The reason why a request or a certificate is not accepted, as a sentence without its beginning and its end. */
export interface Refused {
  readonly message: string
}
const refused = (message: string): Result.Result<never, Refused> => Result.fail({ message })

/**
 * Largest certificate request, and largest user certificate, in bytes of DER. The client's have about 300 and 700; the
 * subject, which the certificate repeats, is all that may be longer.
 */
const maxRequest = 4 * 1024
const maxCertificate = 8 * 1024
/** Length of an Ed25519 key, which every user has, in bytes. */
const userKeyLength = 32
const basicConstraints = "2.5.29.19"

const sha256WithRsa = "1.2.840.113549.1.1.11"
const asnNull = new Uint8Array([5, 0]).buffer
const ed25519SpkiPrefix = Buffer.from("302a300506032b6570032100", "hex")
const day = 86_400_000

const rsaAlgorithm = (): AlgorithmIdentifier =>
  new AlgorithmIdentifier({ algorithm: sha256WithRsa, parameters: asnNull })

const pem = (label: string, der: ArrayBuffer): string => {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n")
}

/** DER of the first PEM block, whatever its label. */
const fromPem = (text: string): Buffer | undefined => {
  const [first] = pemBlocks(text)
  return first === undefined ? undefined : Buffer.from(first.body, "base64")
}

/** The length of the DER value at the beginning of some bytes, its head included; undefined if they begin none. */
const lengthOfFirst = (der: Buffer): number | undefined => {
  const first = der[1]
  if (first === undefined) return undefined
  if (first < 0x80) return 2 + first
  const digits = first - 0x80
  return digits === 0 || digits > 4 || der.length < 2 + digits ? undefined : 2 + digits + der.readUIntBE(2, digits)
}

const positiveSerial = (random: Uint8Array): ArrayBuffer => {
  const serial = Uint8Array.from(random)
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  return serial.buffer
}

const commonNameOf = (name: Name): string => {
  for (const relative of name) {
    for (const part of relative) if (part.type === "2.5.4.3") return part.value.toString()
  }
  return ""
}

const nameOf = (commonName: string): Name => {
  // UTF8String by hand: short (< 128 bytes of content per TLV level) as our own names are.
  const text = Buffer.from(commonName, "utf8")
  const tlv = (tag: number, body: Buffer): Buffer => Buffer.concat([Buffer.from([tag, body.length]), body])
  const attribute = tlv(0x30, Buffer.concat([Buffer.from("0603550403", "hex"), tlv(0x0c, text)]))
  return AsnConvert.parse(tlv(0x30, tlv(0x31, attribute)), Name)
}

const issue = (
  parts: {
    issuer: Name
    subject: Name
    spki: SubjectPublicKeyInfo
    serial: Uint8Array
    from: number
    until: number
    authority: boolean
  },
  key: KeyObject
): ArrayBuffer => {
  const tbs = new TBSCertificate({
    version: Version.v3,
    serialNumber: positiveSerial(parts.serial),
    signature: rsaAlgorithm(),
    issuer: parts.issuer,
    subject: parts.subject,
    validity: new Validity({ notBefore: new Date(parts.from), notAfter: new Date(parts.until) }),
    subjectPublicKeyInfo: parts.spki,
    ...(parts.authority
      ? {
          extensions: new Extensions([
            new Extension({
              extnID: basicConstraints,
              critical: true,
              extnValue: new OctetString(AsnConvert.serialize(new BasicConstraints({ cA: true })))
            })
          ])
        }
      : {})
  })
  const signature = sign("sha256", Buffer.from(AsnConvert.serialize(tbs)), key)
  return AsnConvert.serialize(
    new Certificate({
      tbsCertificate: tbs,
      signatureAlgorithm: rsaAlgorithm(),
      signatureValue: Uint8Array.from(signature).buffer
    })
  )
}

/** Makes a new authority, valid for ten years. `now`: epoch ms; `random`: 16 bytes for the serial number. */
export const makeUserAuthority = (now: number, random: Uint8Array): UserAuthority => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const spki = AsnConvert.parse(publicKey.export({ type: "spki", format: "der" }), SubjectPublicKeyInfo)
  const name = nameOf("braid user certificates")
  const der = issue(
    { issuer: name, subject: name, spki, serial: random, from: now - day, until: now + 3650 * day, authority: true },
    privateKey
  )
  return readUserAuthority(pem("CERTIFICATE", der), privateKey.export({ type: "pkcs8", format: "pem" }).toString())
}

/** The authority of a stored certificate and key. */
export const readUserAuthority = (certificatePem: string, keyPem: string): UserAuthority => {
  const spki = createPublicKey(createPrivateKey(keyPem)).export({ type: "spki", format: "der" })
  return { certificatePem, keyPem, fingerprint: withoutEnd(createHash("sha256").update(spki).digest("base64"), "=") }
}

/**
 * Signs the request of a client, PEM in, PEM out. Lasts a year, and begins an hour ago so that a client's slow clock
 * accepts it.
 */
export const issueUserCertificate = (
  authority: UserAuthority,
  csrPem: string,
  now: number,
  random: Uint8Array
): Result.Result<string, Refused> => {
  const der = fromPem(csrPem)
  if (der === undefined) return refused("the certificate request is not PEM: send the text between BEGIN and END lines")
  if (der.length > maxRequest)
    return refused(`the certificate request has ${der.length} bytes; at most ${maxRequest} are taken`)
  try {
    const request = AsnConvert.parse(der, CertificationRequest)
    const info = request.certificationRequestInfo
    const key = Buffer.from(info.subjectPKInfo.subjectPublicKey)
    if (key.length !== userKeyLength)
      return refused(`the certificate request holds a key of ${key.length} bytes; an Ed25519 key has ${userKeyLength}`)
    const publicKey = createPublicKey({ key: Buffer.concat([ed25519SpkiPrefix, key]), format: "der", type: "spki" })
    const signed = request.certificationRequestInfoRaw
    if (signed === undefined || !verify(null, Buffer.from(signed), publicKey, Buffer.from(request.signature))) {
      return refused("the certificate request is not signed with the key that it holds")
    }
    const issuer = AsnConvert.parse(fromPem(authority.certificatePem) ?? Buffer.alloc(0), Certificate)
    const certificate = issue(
      {
        issuer: issuer.tbsCertificate.subject,
        subject: info.subject,
        spki: info.subjectPKInfo,
        serial: random,
        from: now - 3_600_000,
        until: now + 365 * day,
        authority: false
      },
      createPrivateKey(authority.keyPem)
    )
    return Result.succeed(pem("CERTIFICATE", certificate))
  } catch (error) {
    return refused(`the certificate request cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Why a certificate of this authority is no user's certificate; `undefined` if it is one. */
const notAUsers = ({ extensions, subjectPublicKeyInfo }: TBSCertificate): string | undefined => {
  if (extensions?.some(({ extnID }) => extnID === basicConstraints))
    return "it is the certificate of an authority, such as the operator's own"
  const { byteLength } = subjectPublicKeyInfo.subjectPublicKey
  return byteLength === userKeyLength
    ? undefined
    : `it holds a key of ${byteLength} bytes; a user's Ed25519 key has ${userKeyLength}`
}

/**
 * Checks the certificate of an `x-client-der` header: base64 of DER and of nothing else, signed by this authority for a
 * user, valid at `now` (epoch ms).
 */
export const verifyUserCertificate = (
  authority: UserAuthority,
  header: string,
  now: number
): Result.Result<VerifiedUser, Refused> => {
  const der = Buffer.from(header, "base64")
  if (der.length > maxCertificate)
    return refused(`the user certificate has ${der.length} bytes; at most ${maxCertificate} are taken`)
  try {
    const certificate = AsnConvert.parse(der, Certificate)
    const tbs = certificate.tbsCertificate
    const raw = certificate.tbsCertificateRaw
    const key = createPublicKey(createPrivateKey(authority.keyPem))
    if (raw === undefined || !verify("sha256", Buffer.from(raw), key, Buffer.from(certificate.signatureValue))) {
      return refused(
        "the user certificate was not issued by this operator; run the command again, and if that does not help, " +
          "remove ~/.mirrord/credentials first"
      )
    }
    if (lengthOfFirst(der) !== der.length)
      return refused("the user certificate is followed by other bytes; send the certificate alone")
    const problem = notAUsers(tbs)
    if (problem !== undefined) return refused(`the certificate is not a user's: ${problem}`)
    const [from, until] = [tbs.validity.notBefore.getTime().getTime(), tbs.validity.notAfter.getTime().getTime()]
    if (now < from || now > until) {
      return refused(
        `the user certificate is valid from ${new Date(from).toISOString()} to ${new Date(until).toISOString()} ` +
          "only; run the command again, and the client gets a new one"
      )
    }
    return Result.succeed({
      userId: withoutEnd(Buffer.from(tbs.subjectPublicKeyInfo.subjectPublicKey).toString("base64"), "="),
      commonName: commonNameOf(tbs.subject)
    })
  } catch (error) {
    return refused(`the user certificate cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

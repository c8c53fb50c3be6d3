/**
 * Makes, signs and reads the certificates of tunnels: of the authority, which signs for tunnels alone, of the cell and
 * of outposts. The purpose of a certificate, and the member that it is for, stand in one URI among its names.
 *
 * Not here: how long certificates last, and when they are renewed (domain/outbound); where the authority is kept.
 */

import "reflect-metadata"
import { createHash, createPrivateKey, randomBytes, webcrypto, X509Certificate } from "node:crypto"
import * as x509 from "@peculiar/x509"
import { Redacted, Result } from "effect"
import { quotation } from "../../domain/clean-text.ts"
import { type ClusterName, clusterName, clusterNameProblem } from "../../domain/fleet/cluster-name.ts"
import { pemBlocks } from "../../domain/fleet/credentials/pem.ts"
import type { ServingLife } from "../../domain/fleet/credentials/serving-renewal.ts"
import type { MemberCertificate } from "../../ports/tunnel.ts"
import {
  authorityExtensions,
  importKeys,
  keyAlgorithm,
  leafExtensions,
  makeKeys,
  privateKeyPem,
  signCertificate
} from "./sign-certificate.ts"

/** A certificate with its key, PEM. */
export interface KeptCertificate {
  readonly certificatePem: string
  readonly keyPem: Redacted.Redacted
}

/** The URI in the certificate of a cell. */
const cellUri = "braid:cell"
/** The beginning of the URI in the certificate of an outpost; the cluster's name follows, percent-encoded. */
const clusterUri = "braid:cluster:"
/** Largest certificate request, in bytes of DER; one of ours has about 200. */
const maxRequest = 8 * 1024

/**
 * Makes an authority for tunnels. Two of them have different names, so that both can be trusted for a while, and one
 * may sign the next.
 */
export const makeTunnelAuthority = async (life: ServingLife): Promise<KeptCertificate> => {
  const keys = await makeKeys(true)
  const name = `CN=braid tunnel authority ${randomBytes(4).toString("hex")}`
  const certificatePem = await signCertificate({
    subject: name,
    issuer: name,
    life,
    publicKey: keys.publicKey,
    signer: keys,
    extensions: authorityExtensions(1)
  })
  return { certificatePem, keyPem: await privateKeyPem(keys.privateKey) }
}

/** A certificate for the key of the next authority, PEM, by which those that trust the present one alone trust both. */
export const signNextAuthority = async (
  present: KeptCertificate,
  next: KeptCertificate,
  life: ServingLife
): Promise<string> => {
  const [issuer, subject] = [present, next].map(({ certificatePem }) => new x509.X509Certificate(certificatePem))
  return signCertificate({
    subject: subject?.subject ?? "",
    issuer: issuer?.subject ?? "",
    life,
    publicKey: (await importKeys(createPrivateKey(Redacted.value(next.keyPem)))).publicKey,
    signer: await importKeys(createPrivateKey(Redacted.value(present.keyPem))),
    extensions: authorityExtensions()
  })
}

/** Makes the key of an outpost, and its request for a certificate, PKCS #10 in PEM. Only the request is ever sent. */
export const makeOutpostRequest = async (): Promise<{
  readonly keyPem: Redacted.Redacted
  readonly requestPem: string
}> => {
  const keys = await makeKeys(true)
  const request = await x509.Pkcs10CertificateRequestGenerator.create(
    { keys, signingAlgorithm: keyAlgorithm },
    webcrypto
  )
  return { keyPem: await privateKeyPem(keys.privateKey), requestPem: `${request.toString("pem")}\n` }
}

/** A certificate of this authority for one side of a tunnel. */
const signLeaf = async (
  authority: KeptCertificate,
  leaf: {
    readonly name: string
    readonly names: x509.JsonGeneralNames
    readonly usage: x509.ExtendedKeyUsage.clientAuth | x509.ExtendedKeyUsage.serverAuth
    readonly publicKey: webcrypto.CryptoKey
    readonly life: ServingLife
  }
): Promise<string> =>
  signCertificate({
    // As an object, because a text that begins with # is one of hexadecimal digits.
    subject: new x509.Name([{ CN: [{ utf8String: leaf.name }] }]),
    issuer: new x509.X509Certificate(authority.certificatePem).subject,
    life: leaf.life,
    publicKey: leaf.publicKey,
    signer: await importKeys(createPrivateKey(Redacted.value(authority.keyPem))),
    extensions: leafExtensions(leaf.usage, leaf.names)
  })

/** The key of a request that its sender has proved to hold; of the rest of the request nothing is used. */
const requestedKey = async (requestPem: string): Promise<Result.Result<webcrypto.CryptoKey, string>> => {
  const block = pemBlocks(requestPem).find(({ label }) => label === "CERTIFICATE REQUEST")
  if (block === undefined)
    return Result.fail("the certificate request is not PEM: send the text between BEGIN and END lines")
  const der = Buffer.from(block.body, "base64")
  if (der.length > maxRequest)
    return Result.fail(`the certificate request has ${der.length} bytes; at most ${maxRequest} are taken`)
  try {
    const request = new x509.Pkcs10CertificateRequest(Uint8Array.from(der))
    const { name, namedCurve } = { namedCurve: "", ...request.publicKey.algorithm }
    if (name !== "ECDSA" || namedCurve !== keyAlgorithm.namedCurve)
      return Result.fail(
        `the certificate request holds a key of ${quotation(`${name} ${namedCurve}`)}; a tunnel has one on the curve ` +
          keyAlgorithm.namedCurve
      )
    if (!(await request.verify(webcrypto)))
      return Result.fail("the certificate request is not signed with the key that it holds")
    return Result.succeed(await request.publicKey.export(webcrypto))
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return Result.fail(`the certificate request cannot be read (${quotation(problem)}); make it again`)
  }
}

/**
 * Signs the request of an outpost, PEM in, PEM out. The name is the caller's, whatever the request asks for. The
 * failure is a sentence without its end.
 */
export const signOutpost = async (
  authority: KeptCertificate,
  { life, name, requestPem }: { readonly requestPem: string; readonly name: ClusterName; readonly life: ServingLife }
): Promise<Result.Result<string, string>> => {
  const key = await requestedKey(requestPem)
  if (Result.isFailure(key)) return Result.fail(key.failure)
  const names: x509.JsonGeneralNames = [{ type: "url", value: clusterUri + encodeURIComponent(name) }]
  const usage = x509.ExtendedKeyUsage.clientAuth
  return Result.succeed(await signLeaf(authority, { name, names, usage, publicKey: key.success, life }))
}

/**
 * Makes the certificate of the cell, with its authority behind it: who redeems a token knows no more than the
 * authority's pin. `names`: DNS names, for people; outposts look at the URI alone. `chainPem`: the certificates behind
 * it, up to each authority by which it may be known.
 */
export const signCell = async (
  authority: KeptCertificate,
  names: ReadonlyArray<string>,
  life: ServingLife,
  chainPem = authority.certificatePem
): Promise<KeptCertificate> => {
  const keys = await makeKeys(true)
  const leaf = await signLeaf(authority, {
    name: "braid cell",
    names: [{ type: "url", value: cellUri }, ...names.map((value) => ({ type: "dns" as const, value }))],
    usage: x509.ExtendedKeyUsage.serverAuth,
    publicKey: keys.publicKey,
    life
  })
  return { certificatePem: leaf + chainPem, keyPem: await privateKeyPem(keys.privateKey) }
}

/** SHA-256 of a certificate's public key (SPKI), hex. */
const keyIdOf = ({ publicKey }: X509Certificate): string =>
  createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("hex")

/** The pin of an authority: SHA-256 of its public key (SPKI), hex. Throws for a text without a certificate. */
export const pinOf = (certificatePem: string): string => keyIdOf(new X509Certificate(certificatePem))

/** The URIs of a leaf that may be shown on one side of a tunnel, and its common names; or a clause why it may not. */
const readLeaf = (
  certificate: X509Certificate,
  usage: x509.ExtendedKeyUsage
): Result.Result<{ readonly uris: ReadonlyArray<string>; readonly commonNames: ReadonlyArray<string> }, string> =>
  Result.try({
    try: () => {
      const parsed = new x509.X509Certificate(Uint8Array.from(certificate.raw))
      const names = parsed.getExtensions(x509.SubjectAlternativeNameExtension).flatMap((one) => [...one.names.items])
      const usages = parsed.getExtensions(x509.ExtendedKeyUsageExtension).flatMap((one) => one.usages)
      return {
        isLeaf: !certificate.ca && usages.length === 1 && usages[0] === usage,
        uris: names.flatMap(({ type, value }) => (type === "url" ? [value] : [])),
        commonNames: parsed.subjectName.getField("CN")
      }
    },
    catch: () => "it cannot be read"
  }).pipe(
    Result.flatMap(({ isLeaf, ...leaf }) =>
      isLeaf ? Result.succeed(leaf) : Result.fail("it was not made for this side of a tunnel")
    )
  )

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return ""
  }
}

/**
 * The member that a certificate is for, which TLS has verified already: DER, PEM, or as Node reads it. The failure is a
 * sentence without its end: authorities sign many kinds of certificates, and only an outpost's opens a tunnel.
 */
export const readMemberCertificate = (
  shown: X509Certificate | Uint8Array | string
): Result.Result<MemberCertificate, string> => {
  const no = (why: string): Result.Result<never, string> =>
    Result.fail(`this is not the certificate of a member's tunnel: ${why}; join the cluster again, with a new token`)
  const read = Result.try(() => (shown instanceof X509Certificate ? shown : new X509Certificate(shown)))
  if (Result.isFailure(read)) return no("it cannot be read")
  const certificate = read.success
  const leaf = readLeaf(certificate, x509.ExtendedKeyUsage.clientAuth)
  if (Result.isFailure(leaf)) return no(leaf.failure)
  const { commonNames, uris } = leaf.success
  const [uri = ""] = uris
  const name = uri.startsWith(clusterUri) ? decoded(uri.slice(clusterUri.length)) : ""
  if (uris.length !== 1 || clusterNameProblem(name) !== undefined) return no(`it has no single URI ${clusterUri}NAME`)
  if (commonNames.length !== 1 || commonNames[0] !== name) return no("its common name is not the cluster of its URI")
  return Result.succeed({
    name: clusterName(name),
    keyId: keyIdOf(certificate),
    until: certificate.validToDate.getTime()
  })
}

/** Why a certificate is not a cell's, a clause; `undefined` if it is one. TLS or a pin has verified it already. */
export const cellProblem = (certificate: X509Certificate): string | undefined => {
  const leaf = readLeaf(certificate, x509.ExtendedKeyUsage.serverAuth)
  if (Result.isFailure(leaf)) return leaf.failure
  const { uris } = leaf.success
  return uris.length === 1 && uris[0] === cellUri ? undefined : `it has no single URI ${cellUri}`
}

/** Authorities in a row that may have signed each other while they are exchanged. */
const maxAuthorities = 2

/** The certificates from the leaf up to the authority with this pin, without it; `undefined` if none leads there. */
const belowPinned = (leaf: X509Certificate, pin: string): ReadonlyArray<X509Certificate> | undefined => {
  const below = [leaf]
  for (let last = leaf; below.length <= maxAuthorities;) {
    const above = last.issuerCertificate
    if (above?.ca !== true || !last.checkIssued(above) || !last.verify(above.publicKey)) return undefined
    if (keyIdOf(above) === pin) return below
    below.push(above)
    last = above
  }
  return undefined
}

/**
 * Why a chain of certificates, as a server has shown it, is not a cell's under the authority with this pin at `now`
 * (epoch ms), a clause; `undefined` if it is. So a cell is known by the pin alone, before any authority is trusted.
 */
export const pinProblem = (leaf: X509Certificate, pin: string, now: number): string | undefined => {
  const below = belowPinned(leaf, pin.toLowerCase())
  if (below === undefined) return "its authority does not have the pin of the token's command"
  const ended = below.find(({ validFromDate, validToDate }) => now < +validFromDate || now > +validToDate)
  if (ended === undefined) return cellProblem(leaf)
  const [from, until] = [ended.validFromDate, ended.validToDate].map((date) => date.toISOString())
  return `it is valid from ${from} to ${until} only; look at the clocks`
}

/** Whether a text holds certificates of authorities, PEM, and nothing else. */
export const areAuthorities = (pem: string): boolean => {
  try {
    const blocks = pemBlocks(pem)
    return blocks.length > 0 && blocks.every(({ text }) => new X509Certificate(text).ca)
  } catch {
    return false
  }
}

/** Whether a certificate is for this key, both PEM. */
export const isPair = (certificatePem: string, keyPem: Redacted.Redacted): boolean => {
  try {
    return new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(Redacted.value(keyPem)))
  } catch {
    return false
  }
}

/**
 * The certificates of tunnels as this room uses them: the `x509` adapter makes, signs and reads them. A simulated world
 * provides certificates of its own, since making a key takes longer than many a story.
 *
 * Not here: how long certificates last (domain/outbound), and who may dial (members.ts).
 */

import { Context, Effect, type Redacted, type Result } from "effect"
import { readCertificate } from "../../adapters/x509/read-certificate.ts"
import {
  areAuthorities,
  isPair,
  type KeptCertificate,
  makeOutpostRequest,
  makeTunnelAuthority,
  pinOf,
  readMemberCertificate,
  signCell,
  signNextAuthority,
  signOutpost
} from "../../adapters/x509/tunnel-certificates.ts"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { Validity } from "../../domain/fleet/credentials/validity.ts"
import type { TunnelLife } from "../../domain/outbound/certificate-plan.ts"
import type { MemberCertificate } from "../../ports/tunnel.ts"

/** An outpost's wish for a certificate. `requestPem`: PKCS #10. */
export interface WantedCertificate {
  readonly name: ClusterName
  readonly requestPem: string
  readonly life: TunnelLife
}

/** Certificates, keys and requests are PEM. */
export interface TunnelCertificates {
  readonly makeAuthority: (life: TunnelLife) => Effect.Effect<KeptCertificate>
  /** A certificate for the next authority, by which those that trust the present one alone trust both. */
  readonly signNext: (present: KeptCertificate, next: KeptCertificate, life: TunnelLife) => Effect.Effect<string>
  /** Makes a key, and the request for its certificate. */
  readonly makeRequest: Effect.Effect<{ readonly keyPem: Redacted.Redacted; readonly requestPem: string }>
  /** The certificate of an outpost. The failure is a sentence without its end: what is wrong with the request. */
  readonly signOutpost: (authority: KeptCertificate, wanted: WantedCertificate) => Effect.Effect<string, string>
  /** The certificate of the cell. `chainPem`: the certificates behind it, up to each authority that may be known. */
  readonly signCell: (authority: KeptCertificate, life: TunnelLife, chainPem: string) => Effect.Effect<KeptCertificate>
  /** The member that a certificate is for. The failure is a sentence without its end. */
  readonly readMember: (certificatePem: string) => Result.Result<MemberCertificate, string>
  /** When a certificate is valid; `undefined` for another text. */
  readonly validityOf: (certificatePem: string) => Validity | undefined
  /** SHA-256 of an authority's public key, hex. Throws for a text without a certificate. */
  readonly pinOf: (certificatePem: string) => string
  /** Whether a certificate is for this key. */
  readonly isPair: (certificatePem: string, keyPem: Redacted.Redacted) => boolean
  /** Whether a text holds certificates of authorities, and nothing else. */
  readonly areAuthorities: (pem: string) => boolean
}

const ofX509: TunnelCertificates = {
  makeAuthority: (life) => Effect.promise(() => makeTunnelAuthority(life)),
  signNext: (present, next, life) => Effect.promise(() => signNextAuthority(present, next, life)),
  makeRequest: Effect.promise(() => makeOutpostRequest()),
  signOutpost: (authority, wanted) =>
    Effect.flatMap(
      Effect.promise(() => signOutpost(authority, wanted)),
      Effect.fromResult
    ),
  signCell: (authority, life, chainPem) => Effect.promise(() => signCell(authority, ["braid-cell"], life, chainPem)),
  readMember: readMemberCertificate,
  validityOf: (certificatePem) => readCertificate(certificatePem)?.validity,
  pinOf,
  isPair,
  areAuthorities
}

/** X.509 by default. */
export const CurrentTunnelCertificates = Context.Reference<TunnelCertificates>(
  "braid/app/outbound/CurrentTunnelCertificates",
  { defaultValue: () => ofX509 }
)

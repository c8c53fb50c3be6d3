/**
 * The certificates of tunnels as a simulated world has them: a name, a key, an issuer and a life, in a text that looks
 * like PEM. Keys follow from the world's seed.
 *
 * Not here: real certificates (src/adapters/x509), and who is asked to sign (src/app/outbound).
 */

import { Effect, Redacted, Result } from "effect"
import type { KeptCertificate } from "../../../src/adapters/x509/tunnel-certificates.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import type { TunnelCertificates } from "../../../src/app/outbound/tunnel-certificates.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { pemBlocks } from "../../../src/domain/fleet/credentials/pem.ts"
import type { TunnelLife } from "../../../src/domain/outbound/certificate-plan.ts"
import { canary } from "./canary.ts"

/** How long it takes to make a key or to sign, ms. */
const makingTime = 20

/** A certificate. Times are epoch ms. */
export interface PlayedCertificate extends TunnelLife {
  readonly kind: "authority" | "cell" | "member"
  readonly name: string
  readonly keyId: string
  /** Id of the authority's key. */
  readonly issuer: string
}

const block = (label: string, body: object): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(JSON.stringify(body)).toString("base64")}\n-----END ${label}-----\n`

const decoded = (body: string): object => JSON.parse(Buffer.from(body, "base64").toString())

const certificateText = (certificate: PlayedCertificate): string => block("CERTIFICATE", certificate)

/** The certificates in a text, in order. */
export const readPlayed = (pem: string): ReadonlyArray<PlayedCertificate> =>
  pemBlocks(pem).flatMap(({ body, label }) => (label === "CERTIFICATE" ? [decoded(body) as PlayedCertificate] : []))

const keyText = (keyId: string) => Redacted.make(`${canary} ${keyId}`)
const keyOf = (key: Redacted.Redacted): string => Redacted.value(key).slice(canary.length + 1)

/** Why a certificate does not lead to an authority that is trusted, a clause; `undefined` if it does. */
export const distrust = (shownPem: string, authoritiesPem: string, now: number): string | undefined => {
  const [leaf, ...shown] = readPlayed(shownPem)
  const trusted = new Set(readPlayed(authoritiesPem).map(({ keyId }) => keyId))
  const leads = ({ issuer }: PlayedCertificate, depth: number): boolean =>
    trusted.has(issuer) || (depth > 0 && shown.some((above) => above.keyId === issuer && leads(above, depth - 1)))
  if (leaf === undefined) return "no certificate was shown"
  if (!leads(leaf, 2)) return "another authority has signed the certificate"
  if (now >= leaf.from && now < leaf.until) return undefined
  const [from, until] = [leaf.from, leaf.until].map((time) => new Date(time).toISOString())
  return `the certificate is valid from ${from} to ${until} only`
}

/** Whether a cell is known by the pin of its authority. */
export const hasPin = (shownPem: string, pin: string): boolean => {
  const [leaf, ...shown] = readPlayed(shownPem)
  const leads = (issuer: string | undefined, depth: number): boolean =>
    issuer === pin || (depth > 0 && shown.some((above) => above.keyId === issuer && leads(above.issuer, depth - 1)))
  return leads(leaf?.issuer, 2)
}

interface PlayedService {
  readonly service: TunnelCertificates
  /** Makes an authority at once. */
  readonly authority: (life: TunnelLife) => KeptCertificate
}

/** The service of a world, and its first authority. `seed`: the keys follow from it. */
export const playedCertificates = (seed: string): PlayedService => {
  let keys = 0
  const nextKey = (): string => sha256Hex(`${seed} key ${++keys}`)
  const sign = (certificate: Omit<PlayedCertificate, "issuer">, issuer: string): string =>
    certificateText({ ...certificate, issuer })
  const making = <A>(make: () => A): Effect.Effect<A> => Effect.delay(Effect.sync(make), makingTime)
  const authority = (life: TunnelLife) => {
    const keyId = nextKey()
    return {
      certificatePem: sign({ kind: "authority", name: "authority", keyId, ...life }, keyId),
      keyPem: keyText(keyId)
    }
  }
  const service: TunnelCertificates = {
    makeAuthority: (life) => making(() => authority(life)),
    signNext: ({ keyPem }, next, { from, until }) =>
      making(() =>
        sign({ kind: "authority", name: "authority", keyId: keyOf(next.keyPem), from, until }, keyOf(keyPem))
      ),
    makeRequest: making(() => {
      const keyId = nextKey()
      return { keyPem: keyText(keyId), requestPem: block("CERTIFICATE REQUEST", { keyId }) }
    }),
    signOutpost: ({ keyPem }, { life: { from, until }, name, requestPem }) =>
      making(() => {
        const [request] = pemBlocks(requestPem)
        const { keyId } = decoded(request?.body ?? "") as { readonly keyId: string }
        return sign({ kind: "member", name, keyId, from, until }, keyOf(keyPem))
      }),
    signCell: ({ keyPem }, { from, until }, chainPem) =>
      making(() => {
        const keyId = nextKey()
        const leaf = sign({ kind: "cell", name: "cell", keyId, from, until }, keyOf(keyPem))
        return { certificatePem: leaf + chainPem, keyPem: keyText(keyId) }
      }),
    readMember: (pem) => {
      const [leaf] = readPlayed(pem)
      return leaf?.kind === "member"
        ? Result.succeed({ name: clusterName(leaf.name), keyId: leaf.keyId, until: leaf.until })
        : Result.fail("this is not the certificate of a member's tunnel")
    },
    validityOf: (pem) => readPlayed(pem)[0],
    pinOf: (pem) => readPlayed(pem)[0]?.keyId ?? "",
    isPair: (pem, key) => readPlayed(pem)[0]?.keyId === keyOf(key),
    areAuthorities: (pem) => readPlayed(pem).every(({ kind }) => kind === "authority") && readPlayed(pem).length > 0
  }
  return { service, authority }
}

/**
 * The authority that signs the certificates of tunnels and nothing else, from its Secret, which is made when a primary
 * takes tunnels for the first time; and its exchange for another one.
 *
 * Not here: when a step of the exchange is due (domain/outbound/authority-exchange.ts).
 */

import { Clock, Effect, Redacted, Result } from "effect"
import type { KeptCertificate } from "../../adapters/x509/tunnel-certificates.ts"
import { decodeBase64Text, encodeBase64Text } from "../../domain/fleet/credentials/base64.ts"
import {
  exchangeAnnotation,
  type ExchangeStep,
  exchangeStep,
  type KeptAuthorities
} from "../../domain/outbound/authority-exchange.ts"
import { authorityLife, maxCertificateHours, tunnelLife } from "../../domain/outbound/certificate-plan.ts"
import type { CommandSequence } from "../../domain/outbound/command-sequence.ts"
import { renewCommand } from "../../domain/outbound/renew-command.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import { timeOf, timestamp } from "../../domain/resources/object-meta.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import { ownerLabel } from "../../domain/sessions/names.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../ports/kube-api.ts"
import { logInfo } from "../kernel/log.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { CurrentTunnelCertificates, type TunnelCertificates } from "./tunnel-certificates.ts"

export const tunnelAuthoritySecret = "mirrord-outbound-authority"

/** The authority that signs, and the others that are trusted while it is exchanged. */
export interface TunnelAuthority extends KeptCertificate {
  /** By which members know it: SHA-256 of its public key, hex. */
  readonly pin: string
  /** All that are trusted, PEM: the same text for the same authorities. */
  readonly bundlePem: string
  /** SHA-256 of that text, hex. */
  readonly bundleHash: string
  /** The certificates that the cell shows behind its own, PEM. */
  readonly chainPem: string
  /** The place of the bundle among the commands to members. */
  readonly sequence: CommandSequence
  readonly lives: KeptAuthorities
  /** The authority that will sign next, already trusted; `undefined` if there is none. */
  readonly next: KeptCertificate | undefined
  /** Of the Secret. */
  readonly resourceVersion: string
}

const encoded = (texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, encodeBase64Text(text)]))

/** The keys of the Secret for a pair; those of the authority that signs are the ones that Kubernetes prescribes. */
const pairData = (name: "tls" | "next", { certificatePem, keyPem }: KeptCertificate) =>
  encoded({ [`${name}.crt`]: certificatePem, [`${name}.key`]: Redacted.value(keyPem) })

/** The texts of a Secret; empty for those that it does not have. */
type TextOf = (key: string) => string

const pairIn = ({ isPair }: TunnelCertificates, text: TextOf, name: "tls" | "next"): KeptCertificate | undefined => {
  const [certificatePem, keyPem] = [text(`${name}.crt`), Redacted.make(text(`${name}.key`))]
  return isPair(certificatePem, keyPem) ? { certificatePem, keyPem } : undefined
}

/** The state of an exchange. */
const livesIn = (text: TextOf, until: number, annotations: Readonly<Record<string, string>> | null | undefined) => ({
  until,
  nextSince: timeOf(text("next-since")),
  formerSince: timeOf(text("former-since")),
  isAsked: annotations?.[exchangeAnnotation] !== undefined
})

const readAuthority = (certificates: TunnelCertificates, secret: KubeObject): TunnelAuthority | undefined => {
  const { data, metadata } = Result.getOrUndefined(readResource(secrets, secret)) ?? {}
  const text: TextOf = (key) => Result.getOrElse(decodeBase64Text(data?.[key] ?? ""), () => "")
  const signing = pairIn(certificates, text, "tls")
  const until = signing && certificates.validityOf(signing.certificatePem)?.until
  if (signing === undefined || until === undefined) return undefined
  const former = text("former.crt")
  const bundlePem = [signing.certificatePem, text("next.crt"), former].toSorted().join("")
  return {
    ...signing,
    pin: certificates.pinOf(signing.certificatePem),
    bundlePem,
    bundleHash: sha256Hex(bundlePem),
    // A token that has the pin of the former one finds it at the end.
    chainPem: former === "" ? signing.certificatePem : text("cross.crt") + former,
    sequence: { epoch: metadata?.uid ?? "", number: Number.parseInt(text("number") || "0", 10) },
    lives: livesIn(text, until, metadata?.annotations),
    next: pairIn(certificates, text, "next"),
    resourceVersion: metadata?.resourceVersion ?? ""
  }
}

/** The authority in an object; the failure says what people can do. */
const authorityIn = Effect.fnUntraced(function* (
  api: KubeApi,
  secret: KubeObject
): Effect.fn.Return<TunnelAuthority, KubeError> {
  const authority = readAuthority(yield* CurrentTunnelCertificates, secret)
  if (authority !== undefined) return authority
  return yield* new KubeError({
    cluster: api.cluster,
    operation: `read Secret ${tunnelAuthoritySecret}`,
    reason: "Invalid",
    detail:
      "it holds no certificate with its key; delete it, and the operator makes another, for which each member " +
      `needs ${renewCommand("NAME")}`
  })
})

const make = Effect.gen(function* () {
  const { makeAuthority } = yield* CurrentTunnelCertificates
  return yield* makeAuthority(authorityLife(yield* Clock.currentTimeMillis))
})

const create = Effect.fnUntraced(function* (api: KubeApi, namespace: string): Effect.fn.Return<KubeObject, KubeError> {
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/tls",
    metadata: { name: tunnelAuthoritySecret, namespace, labels: ownerLabel },
    data: { ...pairData("tls", yield* make), ...encoded({ number: "1" }) }
  }
  return yield* api.create(secrets, secret, namespace)
})

/** Whether a Secret is the one that an authority was read from, unchanged. */
const isUnchanged = ({ resourceVersion, sequence }: TunnelAuthority, { metadata }: KubeObject): boolean =>
  metadata.uid === sequence.epoch && metadata.resourceVersion === resourceVersion

/** The authority in the Secret, as it is now. `last`: what was read before, since keys and certificates cost time. */
export const readTunnelAuthority = (
  api: KubeApi,
  namespace: string,
  last?: TunnelAuthority
): Effect.Effect<TunnelAuthority, KubeError> =>
  Effect.flatMap(api.get(secrets, tunnelAuthoritySecret, namespace), (secret) =>
    last !== undefined && isUnchanged(last, secret) ? Effect.succeed(last) : authorityIn(api, secret)
  )

/** The authority, made at its first use. Of several that make it the first wins. */
export const ensureTunnelAuthority = (api: KubeApi, namespace: string): Effect.Effect<TunnelAuthority, KubeError> => {
  const read = readTunnelAuthority(api, namespace)
  return read.pipe(
    Effect.catch((error) =>
      error.reason === "NotFound"
        ? create(api, namespace).pipe(
            Effect.catch((refused) => (refused.reason === "AlreadyExists" ? Effect.void : Effect.fail(refused))),
            Effect.andThen(read)
          )
        : Effect.fail(error)
    )
  )
}

const numberAfter = ({ sequence: { number } }: TunnelAuthority) => encoded({ number: String(number + 1) })

/** The change of the Secret that a step makes. */
const changeFor = Effect.fnUntraced(function* (present: TunnelAuthority, step: ExchangeStep) {
  const now = yield* Clock.currentTimeMillis
  const { certificatePem, next } = present
  if (step === "Prepare") {
    const data = { ...pairData("next", yield* make), ...encoded({ "next-since": timestamp(now) }) }
    return { metadata: { annotations: { [exchangeAnnotation]: null } }, data: { ...data, ...numberAfter(present) } }
  }
  if (step === "Retire")
    return { data: { "former.crt": null, "cross.crt": null, "former-since": null, ...numberAfter(present) } }
  if (step === "Keep" || next === undefined) return undefined
  // It is shown only while the former one is trusted, with time to spare for a primary that was down.
  const life = tunnelLife(now, 2 * maxCertificateHours)
  const { signNext } = yield* CurrentTunnelCertificates
  const cross = yield* signNext(present, next, life)
  const former = encoded({ "former.crt": certificatePem, "cross.crt": cross, "former-since": timestamp(now) })
  return { data: { ...pairData("tls", next), ...former, "next.crt": null, "next.key": null, "next-since": null } }
})

const told: Readonly<Record<Exclude<ExchangeStep, "Keep">, string>> = {
  Prepare: "the authority for tunnels has a successor, which the members get first",
  Promote: "the next authority for tunnels signs from now on",
  Retire: "the former authority for tunnels is trusted no more"
}

/**
 * Takes the next step of an exchange if one is due, and gives the authority then. `isKnown`: whether each member that
 * has joined has the bundle with this hash. `last`: the authority as it was last read. Of several that take the step
 * the first wins.
 */
export const exchangeAuthority = Effect.fnUntraced(function* (
  api: KubeApi,
  namespace: string,
  isKnown: (bundleHash: string) => boolean,
  last: TunnelAuthority
): Effect.fn.Return<TunnelAuthority, KubeError> {
  const present = yield* readTunnelAuthority(api, namespace, last)
  const { bundleHash, lives, resourceVersion } = present
  const step = exchangeStep(lives, isKnown(bundleHash), yield* Clock.currentTimeMillis)
  const change = yield* changeFor(present, step)
  if (step === "Keep" || change === undefined) return present
  const patch = { ...change, metadata: { ...change.metadata, resourceVersion } }
  const written = yield* api.mergePatch(secrets, tunnelAuthoritySecret, patch, { namespace })
  const authority = yield* authorityIn(api, written)
  yield* logInfo(told[step], { pin: authority.pin })
  return authority
})

/**
 * The people who join outbound members of a world: they make tokens beside the primary, as `braid join --outbound`
 * does, and set them in the members; they take members out, exchange the authority, and restore the primary's Secrets.
 *
 * Not here: tunnels (tunnels.ts), and what the operators make of it.
 */

import { Redacted, Result } from "effect"
import type { KeptCertificate } from "../../../src/adapters/x509/tunnel-certificates.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { tunnelAuthoritySecret } from "../../../src/app/outbound/authority.ts"
import { type BootstrapSettings, outpostSecret, tokenId } from "../../../src/app/outbound/outpost-identity.ts"
import { clusterName, credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { decodeBase64Text, encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { credentialsLabel } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import { at } from "../../../src/domain/json.ts"
import { readAdmittedKeys } from "../../../src/domain/outbound/admitted-keys.ts"
import { exchangeAnnotation } from "../../../src/domain/outbound/authority-exchange.ts"
import { readStoredToken, storedTokenData, tokenText } from "../../../src/domain/outbound/bootstrap-token.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { MemoryObjects } from "../../memory/memory-objects.ts"
import { canary } from "./canary.ts"
import { type PlayedCertificate, readPlayed } from "./played-certificates.ts"
import type { Stolen } from "./thief.ts"

/** How long a token can be used, ms. */
const tokenTime = 3_600_000
/** A certificate that lasts for less than that is not renewed any more after all faults have ended, ms. */
const tooShort = 120_000

type Data = Readonly<Record<string, string>>

export interface OutboundPeopleOptions {
  /** The objects of the primary's cluster. */
  readonly primary: () => MemoryObjects
  /** The objects of a member's cluster. */
  readonly objectsOf: (member: string) => MemoryObjects
  readonly namespace: string
  readonly members: ReadonlyArray<string>
  readonly now: () => number
  /** Gives the operator of a member other settings, with which it starts again. */
  readonly restart: (member: string) => void
}

/** An outbound member as both sides have it in their Secrets. */
export interface KnownMember {
  readonly certificate: PlayedCertificate | undefined
  /** Why it cannot dial until people join it again, a clause; `undefined` if it can. */
  readonly problem: string | undefined
}

export class OutboundPeople {
  readonly #options: OutboundPeopleOptions
  /** The settings of each member. */
  readonly #settings = new Map<string, BootstrapSettings>()
  readonly #left = new Set<string>()
  readonly #stolen = new Set<string>()
  #tokens = 0
  #backup: ReadonlyMap<string, Data> = new Map()

  constructor(options: OutboundPeopleOptions) {
    this.#options = options
  }

  /** The primary makes its authority, before it has any member. */
  found({ certificatePem, keyPem }: KeptCertificate): void {
    const texts = { "tls.crt": certificatePem, "tls.key": Redacted.value(keyPem), number: "1" }
    const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, encodeBase64Text(text)]))
    this.#write(tunnelAuthoritySecret, data)
  }

  /** The settings with which the operator of a member starts; `undefined` if it dials out to no primary. */
  settingsOf(member: string): BootstrapSettings | undefined {
    return this.#settings.get(member)
  }

  get #names(): ReadonlyArray<string> {
    return [tunnelAuthoritySecret, ...this.#options.members.map(secretOf)]
  }

  #data(objects: MemoryObjects, name: string): Data | undefined {
    const data = at(objects.peek(secrets, name, this.#options.namespace), "data")
    return data as Data | undefined
  }

  #text(objects: MemoryObjects, name: string, key: string): string {
    return Result.getOrElse(decodeBase64Text(this.#data(objects, name)?.[key] ?? ""), () => "")
  }

  /** Writes the data of a Secret, all of it. */
  #write(name: string, data: Data, metadata: object = {}): void {
    const { namespace, now } = this.#options
    const primary = this.#options.primary()
    const before = Object.keys(this.#data(primary, name) ?? {}).map((key) => [key, null] as const)
    primary.write(
      secrets,
      name,
      { metadata, data: { ...Object.fromEntries(before), ...data } },
      { namespace, now: now() }
    )
  }

  /** `braid join NAME --outbound`, with `--renew` if it has joined before. */
  join(member: string): void {
    const { now } = this.#options
    const primary = this.#options.primary()
    this.#left.delete(member)
    const number = String(++this.#tokens)
    const [id, secret] = [number.padStart(10, "0"), `${canary}-${number}`.padEnd(43, "x")]
    const token = { name: clusterName(member), id, secret }
    const until = now() + tokenTime
    const stored = storedTokenData({ name: token.name, id, hash: sha256Hex(secret), until, by: "root" })
    const labels = { [credentialsLabel]: "true" }
    this.#write(secretOf(member), { ...this.#data(primary, secretOf(member)), ...stored }, { labels })
    const pin = readPlayed(this.#text(primary, tunnelAuthoritySecret, "tls.crt"))[0]?.keyId
    const settings = { token: Redacted.make(tokenText(token)), address: "primary:8444", pin }
    const isFirst = !this.#settings.has(member)
    this.#settings.set(member, settings)
    if (!isFirst) this.#options.restart(member)
  }

  /** `braid leave NAME`, as far as Secrets go. */
  leave(member: string): void {
    this.#left.add(member)
    this.#options.primary().erase(secrets, secretOf(member), this.#options.namespace)
  }

  hasLeft(member: string): boolean {
    return this.#left.has(member)
  }

  /** People keep what the primary has, and ask for another authority. */
  exchange(): void {
    this.backUp()
    const { namespace, now } = this.#options
    const annotations = { [exchangeAnnotation]: "yes" }
    this.#options
      .primary()
      .write(secrets, tunnelAuthoritySecret, { metadata: { annotations } }, { namespace, now: now() })
  }

  /** Keeps what the primary has in its Secrets now. */
  backUp(): void {
    const primary = this.#options.primary()
    this.#backup = new Map(this.#names.flatMap((name) => [[name, this.#data(primary, name) ?? {}] as const]))
  }

  /** Writes the Secrets again as they were at the backup. */
  restore(): void {
    for (const [name, data] of this.#backup)
      if (this.#data(this.#options.primary(), name) !== undefined) this.#write(name, data)
  }

  /** The key, the certificate and the used token of a member, for another operator; `undefined` if it has no key. */
  stolen(member: string): Stolen | undefined {
    const objects = this.#options.objectsOf(member)
    const text = (key: string): string => this.#text(objects, outpostSecret, key)
    const [certificatePem, authoritiesPem] = [text("tls.crt"), text("ca.crt")]
    const keyId = readPlayed(certificatePem)[0]?.keyId
    if (keyId === undefined) return undefined
    this.#stolen.add(keyId)
    const set = this.#settings.get(member)
    return {
      used: set !== undefined && tokenId(set.token) === text("token") ? set : undefined,
      identity: { certificatePem, authoritiesPem, keyPem: Redacted.make(text("tls.key")) },
      holds: { epoch: text("epoch"), number: Number(text("number")), hash: sha256Hex(authoritiesPem) }
    }
  }

  /** Whether a key of the member that is admitted was stolen. */
  isRobbed(member: string): boolean {
    const admitted = readAdmittedKeys(this.#data(this.#options.primary(), secretOf(member)))
    return this.#stolen.size > 0 && admitted.some((key) => this.#stolen.has(key))
  }

  known(member: string): KnownMember {
    const { now, objectsOf } = this.#options
    const primary = this.#options.primary()
    const own = objectsOf(member)
    const [certificate] = readPlayed(this.#text(own, outpostSecret, "tls.crt"))
    const admitted = readAdmittedKeys(this.#data(primary, secretOf(member)))
    const [accepted, present] = [
      [own, outpostSecret],
      [primary, tunnelAuthoritySecret]
    ].map(([objects, name]) => Number(this.#text(objects as MemoryObjects, name as string, "number")))
    const isSameBundle = sorted(this.#text(own, outpostSecret, "ca.crt")) === sorted(this.#bundle())
    const why = (): string | undefined => {
      if (this.#isTokenGood(member)) return undefined
      if (certificate === undefined) return "it has no certificate"
      if (certificate.until < now() + tooShort) return "its certificate ends, or has ended"
      if (!admitted.includes(certificate.keyId)) return "its key is not admitted"
      if (this.isRobbed(member)) return "its key is stolen, and is not shut out yet"
      if ((accepted ?? 0) > (present ?? 0)) return "the primary's commands are older than the last one"
      if (accepted === present && !isSameBundle) return "the primary's last command says something else now"
      return undefined
    }
    return { certificate, problem: why() }
  }

  /** Whether the member will trade its token for a certificate. */
  #isTokenGood(member: string): boolean {
    const { now, objectsOf } = this.#options
    const primary = this.#options.primary()
    const stored = readStoredToken(this.#data(primary, secretOf(member)))
    const set = this.#settings.get(member)
    if (stored === undefined || set === undefined || stored.until < now() + tooShort) return false
    return tokenId(set.token) === stored.id && this.#text(objectsOf(member), outpostSecret, "token") !== stored.id
  }

  #bundle(): string {
    const primary = this.#options.primary()
    return ["tls.crt", "next.crt", "former.crt"].map((key) => this.#text(primary, tunnelAuthoritySecret, key)).join("")
  }

  /** Joins the members again that cannot come back by themselves. */
  heal(isInFleet: (member: string) => boolean): void {
    for (const member of this.#options.members)
      if (isInFleet(member) && this.known(member).problem !== undefined) this.join(member)
  }
}

const secretOf = (member: string): string => credentialsSecretName(clusterName(member), sha256Hex)

const sorted = (pem: string): string =>
  readPlayed(pem)
    .map(({ keyId }) => keyId)
    .toSorted()
    .join()

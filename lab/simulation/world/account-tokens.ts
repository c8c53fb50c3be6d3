/**
 * The credentials by which one simulated API server knows the user of a primary, and until when: tokens of a service
 * account or a cloud, and client certificates.
 *
 * Not here: the Secrets that hold them (token-secrets.ts), and requests (sim-api-server.ts).
 */

import { type CertificatePair, makeClientCertificate } from "./client-certificate.ts"

/** How a cluster grants tokens. In a world without a plan for a cluster its one token is no JWT, and never ends. */
export interface TokenPlan {
  /** Lifetime of the token that the user's Secret begins with, ms. */
  readonly lifetime: number
  /** The longest lifetime that is granted, ms: `--service-account-max-token-expiration` of kube-apiserver. */
  readonly longest: number
  /** How far the server's clock is ahead, ms. */
  readonly skew: number
}

/** The account that the tokens are of. */
export interface TokenAccount {
  /** Such as `system:serviceaccount:mirrord:mirrord-operator-envoy`. */
  readonly subject: string
  /** A text that all tokens hold. */
  readonly secret: string
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url")

export class AccountTokens {
  readonly #plan: TokenPlan | undefined
  readonly #account: TokenAccount
  readonly #now: () => number
  /** When the tokens end that the server knows, epoch ms of its clock. */
  readonly #ends = new Map<string, number>()
  #made = 0
  #last = { madeAt: -Infinity, until: -Infinity }
  #duds = 0

  /** `now`: the true time, epoch ms. */
  constructor(plan: TokenPlan | undefined, account: TokenAccount, now: () => number) {
    this.#plan = plan
    this.#account = account
    this.#now = () => now() + (plan?.skew ?? 0)
  }

  /** Whether tokens end here. */
  get isPlanned(): boolean {
    return this.#plan !== undefined
  }

  /** Whether every token that is granted is known. */
  get isWell(): boolean {
    return this.#duds === 0
  }

  heal(): void {
    this.#duds = 0
  }

  /**
   * So many of the next tokens that are asked for are known to no server, as where the replicas of a server do not have
   * one signing key.
   */
  grantDuds(count: number): void {
    this.#duds = count
  }

  /** The time by the server's clock, epoch ms. */
  now(): number {
    return this.#now()
  }

  /** How long new credentials live, ms. */
  get lifetime(): number {
    return Math.min(this.#plan?.lifetime ?? Infinity, this.#plan?.longest ?? Infinity)
  }

  /** Whether the last token was made after a moment, epoch ms of the true time, and is known now. */
  servesSince(moment: number): boolean {
    const { madeAt, until } = this.#last
    return madeAt > moment && until > this.#now()
  }

  /** A client certificate of a member's authority, and its key. */
  certify(member: string): CertificatePair {
    const from = Math.floor(this.#now() / 1_000) * 1_000
    const until = from + this.lifetime
    const { secret, subject } = this.#account
    const pair = makeClientCertificate({
      subject: `${subject} at ${member}`,
      serial: ++this.#made,
      from,
      until,
      secret
    })
    this.#ends.set(pair.certificatePem.trim(), until)
    return pair
  }

  /** The token that the user's Secret begins with. It may be older than the longest lifetime that is granted. */
  first(): string {
    return this.#make(this.#plan?.lifetime ?? 0)
  }

  /** A token that a person makes, of the planned lifetime if that is not too long. */
  next(): string {
    return this.#make(Math.min(this.#plan?.lifetime ?? 0, this.#plan?.longest ?? Infinity))
  }

  /** A token that an operator asks for, of the given lifetime, ms, if that is not too long. */
  grant(lifetime: number): string {
    const isDud = this.#duds > 0
    if (isDud) this.#duds--
    return this.#make(Math.min(lifetime, this.#plan?.longest ?? Infinity), isDud)
  }

  #make(lifetime: number, isDud = false): string {
    const number = ++this.#made
    const { secret, subject } = this.#account
    if (this.#plan === undefined) return `${secret}-${number}`
    const issuedAt = Math.floor(this.#now() / 1_000)
    const until = issuedAt + Math.floor(lifetime / 1_000)
    const claims = { sub: subject, iat: issuedAt, nbf: issuedAt, exp: until, jti: `${number}` }
    const token = `${encoded({ alg: "none" })}.${encoded(claims)}.${secret}-${number}`
    if (!isDud) {
      this.#ends.set(token, until * 1_000)
      this.#last = { madeAt: this.#now() - (this.#plan.skew ?? 0), until: until * 1_000 }
    }
    return token
  }

  /** Whether the server knows the bearer of a token, or of a certificate as PEM, now. */
  accepts(credential: string): boolean {
    return this.#plan === undefined || (this.#ends.get(credential) ?? -Infinity) > this.#now()
  }
}

/**
 * The Secrets with members' tokens beside a world's primary, as people and Helm write them.
 *
 * Not here: the tokens (account-tokens.ts), and the Secret that the operator itself writes.
 */

import { Result } from "effect"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName, credentialsSecretName, refreshedSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { decodeBase64Text, encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { credentialsLabel } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import { at } from "../../../src/domain/json.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { MemoryObjects } from "../../memory/memory-objects.ts"
import type { AccountTokens } from "./account-tokens.ts"
import { operatorNamespace } from "./operator-replica.ts"

/** Where the Secrets are, and whose tokens they hold. */
export interface TokenSecretsOptions {
  /** The objects of the primary's cluster. */
  readonly objects: MemoryObjects
  readonly members: ReadonlyMap<string, AccountTokens>
  readonly now: () => number
}

export class TokenSecrets {
  readonly #options: TokenSecretsOptions
  /** By member: the token in Helm's values. */
  readonly #values = new Map<string, string>()
  /** Members whose Secret people have deleted, or filled with what is no token. */
  readonly #spoilt = new Set<string>()

  constructor(options: TokenSecretsOptions) {
    this.#options = options
    for (const [member, tokens] of options.members) {
      this.#values.set(member, tokens.first())
      this.restore(member)
    }
  }

  /** Whether people have left all Secrets usable, and members grant tokens that work. */
  get isWell(): boolean {
    return this.#spoilt.size === 0 && [...this.#options.members.values()].every(({ isWell }) => isWell)
  }

  /** Puts right what people have spoilt, and gives members a new first token whose tokens have all ended. */
  heal(): void {
    for (const [member, tokens] of this.#options.members) {
      tokens.heal()
      if (!this.#isUsable(member, tokens)) this.replace(member)
    }
    this.#spoilt.clear()
  }

  /** A person makes another token in the member, and writes it. */
  replace(member: string): void {
    const tokens = this.#options.members.get(member)
    if (tokens === undefined) return
    this.#write(member, tokens.next())
    this.#spoilt.delete(member)
  }

  /** Helm writes the Secret as its values have it. */
  restore(member: string): void {
    const tokens = this.#options.members.get(member)
    this.#write(member, this.#values.get(member) ?? "")
    if (tokens !== undefined && this.#isUsable(member, tokens)) this.#spoilt.delete(member)
  }

  /** A person writes what is no token of the member. */
  spoil(member: string, text: string): void {
    this.#write(member, text)
    this.#spoilt.add(member)
  }

  #write(member: string, token: string): void {
    const { now, objects } = this.#options
    const labels = { [credentialsLabel]: "true" }
    const data = { bearerToken: encodeBase64Text(token) }
    objects.write(
      secrets,
      this.#userSecret(member),
      { metadata: { labels }, data },
      { namespace: operatorNamespace, now: now() }
    )
  }

  /** A person deletes the Secret. */
  delete(member: string): void {
    this.#spoilt.add(member)
    this.#options.objects.erase(secrets, this.#userSecret(member), operatorNamespace)
  }

  /** A person deletes the Secret in which the operator keeps what it was granted. */
  forget(member: string): void {
    this.#options.objects.erase(secrets, this.#ownSecret(member), operatorNamespace)
  }

  #isUsable(member: string, tokens: AccountTokens): boolean {
    if (!tokens.isPlanned) return true
    const first = this.#tokenIn(this.#userSecret(member))
    const kept = this.#tokenIn(this.#ownSecret(member))
    return first.split(".").length === 3 && (tokens.accepts(first) || tokens.accepts(kept))
  }

  #tokenIn(secret: string): string {
    const text = at(this.#options.objects.peek(secrets, secret, operatorNamespace), "data", "bearerToken")
    return typeof text === "string" ? Result.getOrElse(decodeBase64Text(text), () => "") : ""
  }

  #userSecret(member: string): string {
    return credentialsSecretName(clusterName(member), sha256Hex)
  }

  #ownSecret(member: string): string {
    return refreshedSecretName(clusterName(member), sha256Hex)
  }
}

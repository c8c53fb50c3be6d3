/**
 * The token with which a member that dials out gets its first certificate: `braid1.<name>.<id>.<secret>`. It is for one
 * cluster's name, once and for a short time. The primary keeps a hash of it alone, in the member's Secret.
 *
 * Not here: chance and hashes (adapters/x509), and whether a token is good (redemption.ts).
 */

import * as Result from "effect/Result"
import { cleanText, textLimits } from "../clean-text.ts"
import { type ClusterName, clusterName, clusterNameProblem } from "../fleet/cluster-name.ts"
import { decodeBase64Text, encodeBase64Text } from "../fleet/credentials/base64.ts"
import { timeOf, timestamp } from "../resources/object-meta.ts"

export interface BootstrapToken {
  readonly name: ClusterName
  /** Ten lower-case letters and digits, by which the primary finds its token; no secret. */
  readonly id: string
  /** 32 random bytes, base64url. */
  readonly secret: string
}

/** A token as the primary keeps it. */
export interface StoredToken extends Omit<BootstrapToken, "secret"> {
  /** SHA-256 of the secret's text, lower-case hex. */
  readonly hash: string
  /** When the token ends, epoch ms. */
  readonly until: number
  /** The user who made it, for logs and Events. */
  readonly by: string
}

const form = "braid1"
const isId = (text: string): boolean => /^[a-z0-9]{10}$/u.test(text)
const isSecret = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/u.test(text)
const isHash = (text: string): boolean => /^[0-9a-f]{64}$/u.test(text)

export const tokenText = ({ id, name, secret }: BootstrapToken): string => [form, name, id, secret].join(".")

const cure = "copy the whole text that `braid join NAME --outbound` has printed"

/**
 * Reads a token. Names may hold dots, the parts behind the name hold none. The failure is a sentence with no part of
 * the text: any part may be the secret of a token that was copied in pieces.
 */
export const parseToken = (text: string): Result.Result<BootstrapToken, string> => {
  const [first = "", ...rest] = text.trim().split(".")
  const [id = "", secret = ""] = rest.slice(-2)
  const name = rest.slice(0, -2).join(".")
  if (first === "") return Result.fail(`the token is empty; ${cure}`)
  if (first !== form) {
    return Result.fail(
      /^braid\d{1,4}$/u.test(first)
        ? `the token has the form ${first}, and this version of braid reads ${form}; update it`
        : `this is no token for a member that dials out, since it does not begin with \`${form}.\`; ${cure}`
    )
  }
  if (rest.length < 3) return Result.fail(`the token has ${rest.length + 1} parts of 4; ${cure}`)
  if (!isId(id)) return Result.fail(`the third part of the token is not 10 lower-case letters and digits; ${cure}`)
  if (!isSecret(secret)) {
    return Result.fail(`the last part of the token has ${secret.length} characters, or others than its 43; ${cure}`)
  }
  const problem = clusterNameProblem(name)
  if (problem !== undefined) return Result.fail(`the token's second part is no name: ${problem}; ${cure}`)
  return Result.succeed({ name: clusterName(name), id, secret })
}

/** The token's part of the `data` of the member's Secret. */
export const storedTokenData = ({ by, hash, id, name, until }: StoredToken): Readonly<Record<string, string>> => {
  const texts = { id, name, hash, until: timestamp(until), by }
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, encodeBase64Text(text)]))
}

/** The `data` of a patch after which the token is spent. */
export const spentTokenData: Readonly<Record<keyof StoredToken, null>> = {
  id: null,
  name: null,
  hash: null,
  until: null,
  by: null
}

/** Reads the `data` of a member's Secret; `undefined` if it holds no token. */
export const readStoredToken = (data: Readonly<Record<string, string>> | null | undefined): StoredToken | undefined => {
  const text = (key: string): string => Result.getOrElse(decodeBase64Text(data?.[key] ?? ""), () => "")
  const [id, name, hash] = [text("id"), text("name"), text("hash")]
  const until = timeOf(text("until"))
  if (!isId(id) || !isHash(hash) || until === undefined || clusterNameProblem(name) !== undefined) return undefined
  return { id, name: clusterName(name), hash, until, by: cleanText(text("by"), textLimits.name) }
}

/**
 * Issues and checks the JWTs of service accounts (ES256), bound to the account's uid as a real server's are. The
 * request for a token, with its limits, is in `reviews.ts`.
 */

import { createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto"
import { type JsonObject, asNumber, asString, asStrings, at, isObject } from "../../../src/domain/json.ts"
import { randomUid } from "../store/generated-names.ts"
import type { ObjectStore } from "../store/object-store.ts"
import * as refs from "../store/resource-refs.ts"
import { notFound } from "../wire/status-error.ts"
import { type Identity, authenticatedGroup } from "./identity.ts"

export const issuer = "https://kubernetes.default.svc.cluster.local"

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const decode = (part: string): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export interface TokenOptions {
  readonly store: ObjectStore
  readonly now: () => number
  readonly random: () => number
  /** An expired token is accepted for so much longer; a real server grants a minute. */
  readonly leewaySeconds: number
}

export interface IssuedToken {
  readonly token: string
  readonly expirationTimestamp: number
}

export class ServiceAccountTokens {
  readonly #options: TokenOptions
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" })
  readonly #keyId: string
  readonly publicJwk: JsonObject

  constructor(options: TokenOptions) {
    this.#options = options
    this.#keyId = randomUid(options.random)
    this.publicJwk = {
      ...createPublicKey(this.#keys.privateKey).export({ format: "jwk" }),
      use: "sig",
      alg: "ES256",
      kid: this.#keyId
    }
  }

  /** Throws 404 if there is no such account. */
  issue(namespace: string, name: string, ttlSeconds: number, audiences: ReadonlyArray<string> = [issuer]): IssuedToken {
    const account = this.#options.store.get(refs.serviceAccounts, namespace, name)
    if (account === undefined) throw notFound(refs.serviceAccounts, name)
    const issuedAt = Math.floor(this.#options.now() / 1000)
    const claims = {
      aud: audiences,
      exp: issuedAt + ttlSeconds,
      iat: issuedAt,
      iss: issuer,
      jti: randomUid(this.#options.random),
      "kubernetes.io": { namespace, serviceaccount: { name, uid: account.metadata.uid } },
      nbf: issuedAt,
      sub: `system:serviceaccount:${namespace}:${name}`
    }
    const signed = `${encode({ alg: "ES256", kid: this.#keyId, typ: "JWT" })}.${encode(claims)}`
    const signature = sign("sha256", Buffer.from(signed), { key: this.#keys.privateKey, dsaEncoding: "ieee-p1363" })
    return { token: `${signed}.${signature.toString("base64url")}`, expirationTimestamp: claims.exp * 1000 }
  }

  /** The identity that the token proves now, or the reason that it proves none. */
  check(
    token: string,
    audiences: ReadonlyArray<string> = [issuer]
  ): { readonly identity: Identity } | { readonly error: string } {
    const claims = this.#signedClaims(token)
    if (claims?.["iss"] !== issuer) return { error: "invalid bearer token" }
    const error = this.#problem(claims, audiences)
    return error === undefined ? this.#identity(claims) : { error }
  }

  /** The claims of a token with a signature of this cluster. */
  #signedClaims(token: string): JsonObject | undefined {
    const [header = "", payload = "", signature = "", ...surplus] = token.split(".")
    const claims = decode(payload)
    if (claims === undefined || surplus.length > 0 || decode(header)?.["alg"] !== "ES256") return undefined
    const key = { key: this.#keys.publicKey, dsaEncoding: "ieee-p1363" } as const
    const isOurs = verify("sha256", Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"))
    return isOurs ? claims : undefined
  }

  /** Why the claims do not count now; `undefined` if they do. */
  #problem(claims: JsonObject, audiences: ReadonlyArray<string>): string | undefined {
    const seconds = this.#options.now() / 1000
    const leeway = this.#options.leewaySeconds
    if (seconds > (asNumber(claims["exp"]) ?? 0) + leeway) return "service account token has expired"
    if (seconds < (asNumber(claims["nbf"]) ?? 0) - leeway) return "service account token is not valid yet"
    if (asStrings(claims["aud"]).some((audience) => audiences.includes(audience))) return undefined
    return (
      `token audiences ${JSON.stringify(claims["aud"])} is invalid for the target audiences ` +
      `${JSON.stringify(audiences)}`
    )
  }

  #identity(claims: JsonObject): { readonly identity: Identity } | { readonly error: string } {
    const namespace = asString(at(claims, "kubernetes.io", "namespace")) ?? ""
    const name = asString(at(claims, "kubernetes.io", "serviceaccount", "name")) ?? ""
    const uid = asString(at(claims, "kubernetes.io", "serviceaccount", "uid")) ?? ""
    const account = this.#options.store.get(refs.serviceAccounts, namespace, name)
    if (account === undefined || account.metadata.uid !== uid)
      return { error: "service account token has been invalidated" }
    return {
      identity: {
        user: `system:serviceaccount:${namespace}:${name}`,
        groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, authenticatedGroup],
        uid,
        extra: { "authentication.kubernetes.io/credential-id": [`JTI=${asString(claims["jti"]) ?? ""}`] }
      }
    }
  }
}

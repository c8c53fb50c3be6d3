/**
 * An OpenID Connect provider in memory, with the endpoints that a login of the code flow asks. It knows each code once.
 */

import { createHash } from "node:crypto"
import { exportJWK, generateKeyPair, SignJWT } from "jose"

export interface FakeOpenIdOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Ways in which the secret is taken; not said unless given. */
  readonly ways?: ReadonlyArray<string>
  /** Claims that only the endpoint for users tells. */
  readonly userInfo?: Readonly<Record<string, unknown>>
}

/** Changes of an ID token that is given out, by which it is wrong. */
export interface TokenChange {
  readonly issuer?: string
  readonly audience?: string
  readonly nonce?: string
  readonly expiresIn?: string
  /** Whether another key than the published one signs it. */
  readonly isForged?: boolean
}

const json = (value: object, status = 200): Response =>
  Response.json(value, { status, headers: { "cache-control": "no-store" } })

const challengeOf = (verifier: string): string => createHash("sha256").update(verifier).digest("base64url")

export const makeFakeOpenId = async ({ clientId, clientSecret, issuer, userInfo, ways }: FakeOpenIdOptions) => {
  const [keys, others] = [await generateKeyPair("RS256"), await generateKeyPair("RS256")]
  const codes = new Map<string, { readonly challenge: string; readonly token: string }>()
  const asked: Array<string> = []
  let isAway = false
  /** Both parts are in the form of a query (RFC 6749, section 2.3.1). */
  const formed = (text: string): string => `${new URLSearchParams({ "": text })}`.slice(1)
  const basic = `Basic ${btoa(`${formed(clientId)}:${formed(clientSecret)}`)}`
  const isKnown = (headers: Headers, body: URLSearchParams): boolean =>
    ways?.includes("client_secret_basic") === false
      ? body.get("client_secret") === clientSecret && body.get("client_id") === clientId
      : headers.get("authorization") === basic

  const answer = async (path: string, headers: Headers, body: URLSearchParams): Promise<Response> => {
    switch (path) {
      case "/.well-known/openid-configuration":
        return json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          id_token_signing_alg_values_supported: ["RS256"],
          ...(ways === undefined ? {} : { token_endpoint_auth_methods_supported: ways }),
          ...(userInfo === undefined ? {} : { userinfo_endpoint: `${issuer}/userinfo` })
        })
      case "/keys":
        return json({ keys: [{ ...(await exportJWK(keys.publicKey)), kid: "1", alg: "RS256", use: "sig" }] })
      case "/token": {
        const code = codes.get(body.get("code") ?? "")
        codes.delete(body.get("code") ?? "")
        if (!isKnown(headers, body)) return json({ error: "invalid_client" }, 401)
        if (code?.challenge !== challengeOf(body.get("code_verifier") ?? ""))
          return json({ error: "invalid_grant", error_description: "the code is not known" }, 400)
        return json({ access_token: "access", token_type: "bearer", id_token: code.token })
      }
      case "/userinfo":
        return headers.get("authorization") === "Bearer access" ? json({ ...userInfo }) : json({}, 401)
      default:
        return new Response(null, { status: 404 })
    }
  }

  return {
    /** Paths that were asked. */
    asked,
    goAway: (): void => {
      isAway = true
    },
    fetch: async (
      url: string,
      init: { readonly headers: Record<string, string>; readonly body?: unknown }
    ): Promise<Response> => {
      const path = url.slice(issuer.length)
      asked.push(path)
      if (isAway) throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 10.0.0.9:443") })
      return answer(path, new Headers(init.headers), new URLSearchParams(String(init.body ?? "")))
    },
    /** A person logs in at the page `url` to which the browser was sent; the query with which it comes back. */
    logIn: async (
      url: string,
      claims: Readonly<Record<string, unknown>>,
      change: TokenChange = {}
    ): Promise<string> => {
      const { searchParams } = new URL(url)
      const token = await new SignJWT({ nonce: change.nonce ?? searchParams.get("nonce"), ...claims })
        .setProtectedHeader({ alg: "RS256", kid: "1" })
        .setIssuer(change.issuer ?? issuer)
        .setAudience(change.audience ?? clientId)
        .setIssuedAt()
        .setExpirationTime(change.expiresIn ?? "5m")
        .sign(change.isForged === true ? others.privateKey : keys.privateKey)
      const code = `code-${codes.size}-${asked.length}`
      codes.set(code, { challenge: searchParams.get("code_challenge") ?? "", token })
      return `?${new URLSearchParams({ code, state: searchParams.get("state") ?? "" })}`
    }
  }
}

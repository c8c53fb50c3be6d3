/** Logs people in at an OpenID Connect provider: implements the port `LoginProvider` by `openid-client`. */

import { Effect, Redacted } from "effect"
import * as client from "openid-client"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import { type LoginAttempt, LoginError, type LoginProvider } from "../../ports/login-provider.ts"

export interface OpenIdOptions {
  /** An https URL. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  readonly scopes: ReadonlyArray<string>
  /** Where the provider sends browsers back to. */
  readonly redirectUri: string
  /** Claims for which the provider is asked once more where its ID token lacks them. */
  readonly claims: ReadonlyArray<string>
  /** Sends requests; the platform's own unless given. */
  readonly fetch?: client.CustomFetch
}

/** How long a provider may take to answer, s. */
const patience = 10

const wordsOf = (cause: unknown): string => {
  if (cause instanceof client.AuthorizationResponseError || cause instanceof client.ResponseBodyError)
    return [cause.error, cause.error_description].filter((text) => text !== undefined).join(": ")
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message
}

const shown = (cause: unknown): string => cleanText(wordsOf(cause), textLimits.quotation)

/** A provider that cannot be reached fails as `fetch` does, or by time. */
const isAway = (cause: unknown): boolean =>
  cause instanceof Error &&
  (cause.name === "TypeError" || cause.name === "TimeoutError" || (cause.cause !== undefined && isAway(cause.cause)))

/** Sends the secret in the way that the provider takes; as a header where it does not say, as OAuth wants it. */
const authenticate = (secret: Redacted.Redacted): client.ClientAuth => {
  const [basic, post] = [client.ClientSecretBasic, client.ClientSecretPost].map((way) => way(Redacted.value(secret)))
  return (server, ...request) => {
    const ways = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"]
    return (ways.includes("client_secret_basic") ? basic : post)?.(server, ...request)
  }
}

export const openIdProvider = (options: OpenIdOptions): LoginProvider => {
  const { claims: wanted, clientId, clientSecret, fetch, issuer, redirectUri, scopes } = options
  let known: client.Configuration | undefined
  const configuration = Effect.suspend(() =>
    known === undefined
      ? Effect.tryPromise({
          try: () =>
            client.discovery(new URL(issuer), clientId, undefined, authenticate(clientSecret), {
              timeout: patience,
              // Signatures are checked too: by itself the library trusts what the provider says over TLS.
              execute: [client.enableNonRepudiationChecks],
              ...(fetch === undefined ? {} : { [client.customFetch]: fetch })
            }),
          catch: (cause) =>
            new LoginError({ reason: "Away", message: `${issuer} cannot be asked who you are: ${shown(cause)}.` })
        }).pipe(
          Effect.tap((read) =>
            Effect.sync(() => {
              known = read
            })
          )
        )
      : Effect.succeed(known)
  )
  const begun = async (config: client.Configuration) => {
    const verifier = client.randomPKCECodeVerifier()
    const attempt: LoginAttempt = { state: client.randomState(), nonce: client.randomNonce(), verifier }
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: scopes.join(" "),
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256"
    })
    return { url: url.href, attempt }
  }
  const claimed = async (config: client.Configuration, answer: string, attempt: LoginAttempt) => {
    const tokens = await client.authorizationCodeGrant(config, new URL(answer, redirectUri), {
      expectedState: attempt.state,
      expectedNonce: attempt.nonce,
      pkceCodeVerifier: attempt.verifier,
      idTokenExpected: true
    })
    const claims = tokens.claims() ?? { sub: "" }
    const isWhole = wanted.every((name) => name in claims)
    if (isWhole || config.serverMetadata().userinfo_endpoint === undefined) return claims
    return { ...(await client.fetchUserInfo(config, tokens.access_token, claims.sub)), ...claims }
  }
  return {
    begin: Effect.flatMap(configuration, (config) => Effect.promise(() => begun(config))),
    finish: (answer, attempt) =>
      Effect.flatMap(configuration, (config) =>
        Effect.tryPromise({
          try: () => claimed(config, answer, attempt),
          catch: (cause) =>
            isAway(cause)
              ? new LoginError({ reason: "Away", message: `${issuer} does not answer: ${shown(cause)}.` })
              : new LoginError({ reason: "Refused", message: `${issuer} has not logged you in: ${shown(cause)}.` })
        })
      )
  }
}

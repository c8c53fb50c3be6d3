/**
 * Makes tokens for AKS clusters: exchanges the pod's Azure workload identity at Microsoft Entra. Implements
 * `MakeCloudToken`.
 *
 * Not here: the exchange itself, which the Azure SDK does (entra.ts).
 */

import { readFile } from "node:fs/promises"
import { Effect, Redacted } from "effect"
import { aksFailure } from "../../domain/fleet/credentials/aks-failure.ts"
import { type AksIdentity, aksIdentity } from "../../domain/fleet/credentials/aks-identity.ts"
import type { AksAuth } from "../../domain/fleet/credentials/cluster-auth.ts"
import { unusableCharacter } from "../../domain/fleet/credentials/token-text.ts"
import type { MakeCloudToken } from "../../ports/cloud-tokens.ts"

/** How long making a token may take. */
const patience = "30 seconds"

const problemOf =
  (identity: AksIdentity) =>
  (cause: unknown): string => {
    const error = cause instanceof Error ? cause : new Error(String(cause))
    const name = "code" in error && typeof error.code === "string" ? error.code : error.name
    return aksFailure({ name, message: error.message }, identity)
  }

const exchange = async (
  { tokenFile, ...identity }: AksIdentity,
  certificateAuthority: string | undefined,
  signal: AbortSignal
) => {
  const assertion = (await readFile(tokenFile, "utf8")).trim()
  if (assertion === "") throw Object.assign(new Error(`${tokenFile} is empty`), { code: "ENODATA" })
  const { entraToken } = await import("./entra.ts")
  return entraToken({ ...identity, assertion, certificateAuthority }, signal)
}

/**
 * Tokens by the Azure identity of this process. `certificateAuthority`: PEM of the authority that Entra's certificate
 * is from, instead of the public ones.
 */
export const makeAksTokens = (environment = process.env, certificateAuthority?: string): MakeCloudToken<AksAuth> =>
  Effect.fnUntraced(function* ({ auth }) {
    const identity = yield* Effect.fromResult(aksIdentity(auth, environment))
    const fail = problemOf(identity)
    const { token, until } = yield* Effect.tryPromise({
      try: (signal) => exchange(identity, certificateAuthority, signal),
      catch: fail
    }).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => Effect.fail(fail(new Error(`there was no answer within ${patience}`)))
      })
    )
    if (!Number.isFinite(until))
      return yield* Effect.fail(fail(new Error("the answer does not say when the token ends")))
    const problem = unusableCharacter(token)
    if (problem !== undefined) return yield* Effect.fail(fail(new Error(`the answer holds no token: ${problem}`)))
    return { token: Redacted.make(token), until }
  })

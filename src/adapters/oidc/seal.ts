/** Seals texts as encrypted JWTs (RFC 7516): replicas and restarts of an operator read each other's. */

import { hkdfSync } from "node:crypto"
import { Effect, Redacted } from "effect"
import { EncryptJWT, jwtDecrypt } from "jose"
import type { Seal } from "../../ports/login-provider.ts"

const [keyManagement, encryption] = ["dir", "A256GCM"]

/** `secret`: known to this operator alone. With another one all that was sealed before cannot be opened. */
export const makeSeal = (secret: Redacted.Redacted): Seal => {
  const key = new Uint8Array(hkdfSync("sha256", Redacted.value(secret), "", "braid: cookies of the page of use", 32))
  return {
    close: (purpose, contents, until) =>
      Effect.promise(() =>
        new EncryptJWT({ contents })
          .setProtectedHeader({ alg: keyManagement, enc: encryption })
          .setAudience(purpose)
          .setExpirationTime(new Date(until))
          .encrypt(key)
      ),
    open: (purpose, text, now) =>
      Effect.tryPromise(() =>
        jwtDecrypt<{ readonly contents?: Readonly<Record<string, unknown>> }>(text, key, {
          audience: purpose,
          currentDate: new Date(now),
          requiredClaims: ["exp"],
          keyManagementAlgorithms: [keyManagement],
          contentEncryptionAlgorithms: [encryption]
        })
      ).pipe(
        Effect.map(({ payload: { contents, exp } }) =>
          contents === undefined || exp === undefined ? undefined : { contents, until: exp * 1_000 }
        ),
        Effect.orElseSucceed(() => undefined)
      )
  }
}

/**
 * Issues users' certificates and reads them back, by the operator's own authority. The API server is asked about users'
 * rights elsewhere.
 */

import { randomBytes } from "node:crypto"
import { type Clock, Effect } from "effect"
import {
  issueUserCertificate,
  type UserAuthority,
  verifyUserCertificate
} from "../../adapters/x509/user-certificates.ts"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { Asker } from "../api/operator-facade.ts"
import { type ApiError, badRequest, forbidden } from "../api/status.ts"

/** Signs a user's certificate request; PEM in, PEM out. `now`: epoch ms. */
export const issueCertificate = (authority: UserAuthority, csr: string, now: number): Effect.Effect<string, ApiError> =>
  Effect.fromResult(issueUserCertificate(authority, csr, now, randomBytes(16))).pipe(
    Effect.mapError(({ message }) => badRequest(`spec.csr: ${message}.`))
  )

/** The user of a certificate. Its dates are judged by the host's clock, which also dated them. */
export const ownerOf = (
  authority: UserAuthority,
  wall: Clock.Clock,
  request: Asker,
  certificate: string
): Effect.Effect<SessionOwner, ApiError> =>
  Effect.flatMap(wall.currentTimeMillis, (now) =>
    Effect.fromResult(verifyUserCertificate(authority, certificate, now)).pipe(
      Effect.mapError(({ message }) => forbidden(`${message.charAt(0).toUpperCase()}${message.slice(1)}.`)),
      Effect.map(({ commonName, userId }) => ({
        userId,
        username: cleanText(request.clientName ?? commonName, textLimits.name),
        hostname: cleanText(request.clientHostname ?? commonName, textLimits.name),
        k8sUsername: cleanText(request.caller.user, textLimits.name)
      }))
    )
  )

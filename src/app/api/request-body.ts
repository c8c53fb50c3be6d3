/**
 * Reads the bodies of requests, each within a bound.
 *
 * Not here: what they say.
 */

import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, HttpServerRequest } from "effect/http"
import { type ApiError, badRequest, tooLarge } from "./status.ts"

/** Largest body of a usual request, in KiB. The largest that a client sends is a certificate request of 300 bytes. */
export const maxBody = 64

/** The body of a request as text; `maxKib`: its bound. Bytes beyond it are not kept. */
export const bodyText = (maxKib = maxBody): Effect.Effect<string, ApiError, HttpServerRequest.HttpServerRequest> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => request.text).pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.kibibytes(maxKib)),
    Effect.mapError(({ reason }) =>
      reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
        ? tooLarge(`The body of the request is larger than ${maxKib} KiB, which no request needs.`)
        : badRequest("The body could not be read.")
    )
  )

export const parseJson = (text: string): Effect.Effect<unknown, ApiError> =>
  Effect.try({ try: () => JSON.parse(text) as unknown, catch: () => badRequest("The body is not JSON.") })

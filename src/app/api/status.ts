/**
 * Answers of the API that are sentences: Kubernetes `Status` objects, with one function for each code of an error.
 * Every sentence is made clean and short here, because it may quote its caller. Answers with objects are made in
 * routes.ts.
 */

import { Data, Effect } from "effect"
import { HttpServerRespondable, HttpServerResponse } from "effect/http"
import { cleanText, textLimits } from "../../domain/clean-text.ts"

const sentence = (text: string): string => cleanText(text, textLimits.message)

/** Sentences as a text of lines. */
export const sentences = (texts: ReadonlyArray<string>): string => texts.map((text) => `${sentence(text)}\n`).join("")

const statusBody = (status: "Success" | "Failure", code: number, message: string): object => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status,
  message: sentence(message),
  code
})

/** The body of the answer to a request that was carried out and has no object. */
export const successBody = (message: string): object => statusBody("Success", 200, message)

/** The body of every error. Without it the real client forgets the HTTP status (operator-api.md §2.5). */
export const failureBody = ({ code, message, reason }: ApiError): object => ({
  ...statusBody("Failure", code, message),
  reason
})

/**
 * An answer other than success. Users never get 429 or 504, and 503 only while the leader changes ({@link
 * serviceUnavailable}): their client repeats on those for minutes without a word (operator-api.md §2.4).
 */
export class ApiError extends Data.TaggedError("ApiError")<{
  readonly code: number
  readonly reason: string
  readonly message: string
}> {
  [HttpServerRespondable.symbol](): Effect.Effect<HttpServerResponse.HttpServerResponse> {
    // Close on 401: a new handshake is verified against the current CAs and may succeed.
    const headers = this.code === 401 ? { headers: { connection: "close" } } : {}
    return HttpServerResponse.json(failureBody(this), { status: this.code, ...headers }).pipe(Effect.orDie)
  }
}

export const badRequest = (message: string): ApiError => new ApiError({ code: 400, reason: "BadRequest", message })
export const unauthorized = (message: string): ApiError => new ApiError({ code: 401, reason: "Unauthorized", message })
export const forbidden = (message: string): ApiError => new ApiError({ code: 403, reason: "Forbidden", message })
/** A request names a session together with a URL that is not the session's. The API server has checked the URL only. */
export const ofAnotherTarget = (session: string, target: string, namespace: string): ApiError =>
  forbidden(
    `Session ${session} is not of ${target} in namespace ${namespace}; a session is connected to under the URL ` +
      "that it was started with."
  )
export const notFound = (message: string): ApiError => new ApiError({ code: 404, reason: "NotFound", message })
/** Only for the link of a primary, which tells its user that the session cannot go on. */
export const conflict = (message: string): ApiError => new ApiError({ code: 409, reason: "Conflict", message })
export const tooLarge = (message: string): ApiError =>
  new ApiError({ code: 413, reason: "RequestEntityTooLarge", message })
export const reconnectNotPossible = (message: string): ApiError =>
  new ApiError({ code: 410, reason: "ReconnectNotPossible", message })
export const internalError = (message: string): ApiError =>
  new ApiError({ code: 500, reason: "InternalError", message })
/** Only for a person's request that was lost on its way to a member. */
export const badGateway = (message: string): ApiError => new ApiError({ code: 502, reason: "BadGateway", message })
/**
 * For people's requests to a member without a tunnel, and else only for a replica that is not the leader: the same
 * request finds the leader in a moment.
 */
export const serviceUnavailable = (message: string): ApiError =>
  new ApiError({ code: 503, reason: "ServiceUnavailable", message })

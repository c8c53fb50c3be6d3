import { Data, Effect } from "effect"
import { HttpServerRespondable, HttpServerResponse } from "effect/http"

/** The body of every error: a Kubernetes `Status`. Without it the real client forgets the HTTP status (operator-api §1.2.3). */
export const statusBody = (code: number, reason: string, message: string): object => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message,
  reason,
  code
})

/**
 * An answer other than success. Never 429, 503 or 504 towards users: their client repeats on those for minutes without a word
 * (operator-api §1.2.2).
 */
export class ApiError extends Data.TaggedError("ApiError")<{
  readonly code: number
  readonly reason: string
  readonly message: string
}> {
  [HttpServerRespondable.symbol](): Effect.Effect<HttpServerResponse.HttpServerResponse> {
    return HttpServerResponse.json(statusBody(this.code, this.reason, this.message), { status: this.code }).pipe(Effect.orDie)
  }
}

export const badRequest = (message: string): ApiError => new ApiError({ code: 400, reason: "BadRequest", message })
export const unauthorized = (message: string): ApiError => new ApiError({ code: 401, reason: "Unauthorized", message })
export const forbidden = (message: string): ApiError => new ApiError({ code: 403, reason: "Forbidden", message })
export const notFound = (message: string): ApiError => new ApiError({ code: 404, reason: "NotFound", message })
export const reconnectNotPossible = (message: string): ApiError =>
  new ApiError({ code: 410, reason: "ReconnectNotPossible", message })
export const internalError = (message: string): ApiError => new ApiError({ code: 500, reason: "InternalError", message })

/**
 * Translates answers and failures of an API server into {@link KubeError}. Sends nothing.
 */

import type { Readable } from "node:stream"
import type { Dispatcher } from "undici"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import { isObject } from "../../domain/json.ts"
import { KubeError, type KubeErrorReason } from "../../ports/kube-api.ts"
import { maxRefusal, readBody } from "./bounded-body.ts"

const reasons: ReadonlySet<string> = new Set<KubeErrorReason>([
  "NotFound",
  "AlreadyExists",
  "Conflict",
  "Gone",
  "Forbidden",
  "Unauthorized",
  "Invalid",
  "TooManyRequests"
])
const byCode: Readonly<Record<number, KubeErrorReason>> = {
  400: "Invalid",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Gone",
  422: "Invalid",
  429: "TooManyRequests"
}

/** The call that an error is about. */
export interface Operation {
  readonly cluster: string
  readonly operation: string
}

/** The reason that a `Status` or an HTTP code gives; watch errors call `Gone` also `Expired`. */
export const reasonOf = (code: number, reason: unknown): KubeErrorReason => {
  if (reason === "Expired") return "Gone"
  return typeof reason === "string" && reasons.has(reason) ? (reason as KubeErrorReason) : (byCode[code] ?? "Other")
}

/**
 * Whether a patch was meant for another object of the same name: the server then says that the uid cannot be changed.
 */
const isOfAnother = (status: Readonly<Record<string, unknown>>): boolean => {
  const details = isObject(status["details"]) ? status["details"] : {}
  const causes: ReadonlyArray<unknown> = Array.isArray(details["causes"]) ? details["causes"] : []
  return status["reason"] === "Invalid" && causes.some((cause) => isObject(cause) && cause["field"] === "metadata.uid")
}

/** Reads Retry-After. Kubernetes sends whole seconds; the header's other form, a date, is not used there. */
const retryAfter = (header: string | ReadonlyArray<string> | undefined): number | undefined =>
  typeof header === "string" && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : undefined

/** The parts of an error beside its reason. */
interface AnswerDetails {
  readonly detail: string
  readonly code?: number | undefined
  readonly retryAfterMs?: number | undefined
}

const failure = (
  { cluster, operation }: Operation,
  reason: KubeErrorReason,
  { code, detail, retryAfterMs }: AnswerDetails
): KubeError =>
  new KubeError({
    cluster,
    operation,
    reason,
    detail: cleanText(detail, textLimits.message),
    ...(code === undefined ? {} : { code }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs })
  })

/** The error of an answer that does not have the expected form. */
export const unexpected = (operation: Operation, detail: string): KubeError => failure(operation, "Other", { detail })

/** The error of a call that got no answer. */
export const unreachable = (operation: Operation, cause: unknown): KubeError => {
  if (cause instanceof KubeError) return cause
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const detail = inner instanceof Error ? inner.message || inner.name : String(inner)
  return failure(operation, "Unreachable", { detail })
}

/** The text of a refusal; empty if it is too long to be a `Status`: the code says enough then. */
const refusalOf = async (body: Readable): Promise<string> => {
  try {
    return (await readBody(body, maxRefusal)).toString("utf8")
  } catch {
    return ""
  }
}

/** The error of an answer with a status of 300 or more. */
export const refused = async (operation: Operation, response: Dispatcher.ResponseData): Promise<KubeError> => {
  const text = await refusalOf(response.body)
  const code = response.statusCode
  const retryAfterMs = retryAfter(response.headers["retry-after"])
  try {
    const status: unknown = JSON.parse(text)
    if (isObject(status)) {
      const reason = isOfAnother(status) ? "Conflict" : reasonOf(code, status["reason"])
      return failure(operation, reason, { detail: String(status["message"] ?? text), code, retryAfterMs })
    }
  } catch {
    // Not every proxy in front of an API server answers with a Status.
  }
  const detail = text.slice(0, 500) || `HTTP ${code}`
  return failure(operation, reasonOf(code, undefined), { detail, code, retryAfterMs })
}

/** The failure that a watch's `ERROR` event holds. */
export const watchFailure = (operation: Operation, object: unknown): KubeError => {
  const status = isObject(object) ? object : {}
  const code = Number(status["code"] ?? 0)
  const detail = String(status["message"] ?? "watch error")
  return failure(operation, reasonOf(code, status["reason"]), { detail, code })
}

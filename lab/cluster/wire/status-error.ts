/**
 * The errors of the API, with the codes, reasons, details and texts of a real kube-apiserver (k8s.io/apimachinery
 * `api/errors`, `util/validation/field`).
 */

export interface StatusCause {
  readonly reason: string
  readonly message: string
  readonly field: string
}

/** `v1.Status`. */
export interface Status {
  readonly kind: "Status"
  readonly apiVersion: "v1"
  readonly metadata: { readonly continue?: string }
  readonly status: "Success" | "Failure"
  readonly message?: string
  readonly reason?: string
  readonly details?: {
    readonly name?: string
    readonly group?: string
    readonly kind?: string
    readonly uid?: string
    readonly causes?: ReadonlyArray<StatusCause>
    readonly retryAfterSeconds?: number
  }
  readonly code?: number
}

/** A failed request: what the HTTP layer answers, and what the store throws. */
export class ApiError extends Error {
  readonly _tag = "ApiError"
  readonly status: Status
  readonly code: number
  readonly reason: string
  constructor(
    code: number,
    reason: string,
    message: string,
    details?: Status["details"],
    metadata: Status["metadata"] = {}
  ) {
    super(message)
    this.code = code
    this.reason = reason
    this.status = {
      kind: "Status",
      apiVersion: "v1",
      metadata,
      status: "Failure",
      message,
      ...(reason === "" ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code
    }
  }
}

interface Named {
  readonly group: string
  readonly resource: string
}

const qualified = (of: Named): string => (of.group === "" ? of.resource : `${of.resource}.${of.group}`)

const detailsOf = (of: Named, name: string): Status["details"] => ({
  ...(name === "" ? {} : { name }),
  ...(of.group === "" ? {} : { group: of.group }),
  kind: of.resource
})

export const notFound = (of: Named, name: string): ApiError =>
  new ApiError(404, "NotFound", `${qualified(of)} "${name}" not found`, detailsOf(of, name))

export const noSuchResource = (): ApiError =>
  new ApiError(404, "NotFound", "the server could not find the requested resource", {})

export const alreadyExists = (of: Named, name: string): ApiError =>
  new ApiError(409, "AlreadyExists", `${qualified(of)} "${name}" already exists`, detailsOf(of, name))

const conflict = (of: Named, name: string, why: string): ApiError =>
  new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(of)} "${name}": ${why}`,
    detailsOf(of, name)
  )

export const staleVersion = (of: Named, name: string): ApiError =>
  conflict(of, name, "the object has been modified; please apply your changes to the latest version and try again")

/** A replacement that is meant for another object of the name. */
export const wrongUid = (of: Named, name: string, wanted: string, found: string): ApiError =>
  conflict(of, name, `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${found}`)

/**
 * A deletion that is meant for another object of the name, or for an older state of it. Such an answer names the kind,
 * not the plural.
 */
export const preconditionFailed = (
  of: { readonly group: string; readonly kind: string },
  name: string,
  what: "UID" | "ResourceVersion",
  wanted: string,
  found: string
): ApiError => {
  const why = what === "UID" ? "deleted and then recreated" : "modified"
  const differs = `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${found})`
  return conflict({ group: of.group, resource: of.kind }, name, `${differs}. The object might have been ${why}`)
}

export const forbidden = (of: Named, name: string, why: string): ApiError =>
  new ApiError(
    403,
    "Forbidden",
    `${qualified(of)}${name === "" ? "" : ` "${name}"`} is forbidden: ${why}`,
    detailsOf(of, name)
  )

export const badRequest = (message: string): ApiError => new ApiError(400, "BadRequest", message)

export const unauthorized = (): ApiError => new ApiError(401, "Unauthorized", "Unauthorized")

export const expired = (requested: number, oldest: number): ApiError =>
  new ApiError(410, "Expired", `too old resource version: ${requested} (${oldest})`)

export const methodNotAllowed = (): ApiError =>
  new ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})

export const unsupportedMediaType = (found: string, supported: ReadonlyArray<string>): ApiError =>
  new ApiError(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${supported.join(", ")}` +
      (found === "" ? "" : ` (found ${JSON.stringify(found)})`)
  )

export const notAcceptable = (supported: ReadonlyArray<string>): ApiError =>
  new ApiError(406, "NotAcceptable", `only the following media types are accepted: ${supported.join(", ")}`)

export const tooLarge = (limit: number): ApiError =>
  new ApiError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${limit}`)

export const internalError = (message: string): ApiError =>
  new ApiError(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ reason: "InternalError", message, field: "" }]
  })

/** One wrong field. `message` begins with the type of the error, e.g. `Required value`. */
export type FieldError = StatusCause

export const required = (field: string, detail?: string): FieldError => ({
  reason: "FieldValueRequired",
  message: detail === undefined ? "Required value" : `Required value: ${detail}`,
  field
})

export const invalidValue = (field: string, value: unknown, detail: string): FieldError => ({
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(value) ?? "null"}: ${detail}`,
  field
})

export const unsupportedValue = (field: string, value: unknown, supported: ReadonlyArray<string>): FieldError => ({
  reason: "FieldValueNotSupported",
  message:
    `Unsupported value: ${JSON.stringify(value)}: supported values: ` +
    `${supported.map((one) => JSON.stringify(one)).join(", ")}`,
  field
})

export const tooLong = (field: string, limit: number): FieldError => ({
  reason: "FieldValueTooLong",
  message: `Too long: may not be more than ${limit} bytes`,
  field
})

export const duplicateValue = (field: string, value: unknown): FieldError => ({
  reason: "FieldValueDuplicate",
  message: `Duplicate value: ${JSON.stringify(value)}`,
  field
})

export const notFoundValue = (field: string, value: unknown): FieldError => ({
  reason: "FieldValueNotFound",
  message: `Not found: ${JSON.stringify(value)}`,
  field
})

export const forbiddenField = (field: string, detail: string): FieldError => ({
  reason: "FieldValueForbidden",
  message: `Forbidden: ${detail}`,
  field
})

/** 422. `of.kind` is the kind, not the plural, as in a real server's answer. */
export const invalid = (
  of: { readonly group: string; readonly kind: string },
  name: string,
  errors: ReadonlyArray<FieldError>
): ApiError => {
  const texts = errors.map((error) => `${error.field}: ${error.message}`)
  const kind = of.group === "" ? of.kind : `${of.kind}.${of.group}`
  return new ApiError(
    422,
    "Invalid",
    `${kind} "${name}" is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`}`,
    { ...(name === "" ? {} : { name }), ...(of.group === "" ? {} : { group: of.group }), kind: of.kind, causes: errors }
  )
}

/**
 * The errors of the API, with the codes, reasons, details and texts of a real kube-apiserver (k8s.io/apimachinery
 * `api/errors`, `util/validation/field`). The error for a request is chosen elsewhere.
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
  constructor(code: number, reason: string, message: string, details?: Status["details"]) {
    super(message)
    this.code = code
    this.reason = reason
    this.status = {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      ...(reason === "" ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code
    }
  }

  /** The same error with a token by which a list can be gone on with. */
  continuedBy(token: string): ApiError {
    return Object.assign(this, { status: { ...this.status, metadata: { continue: token } } })
  }
}

interface Named {
  readonly group: string
  readonly resource: string
}

const qualified = ({ group, resource }: Named): string => (group === "" ? resource : `${resource}.${group}`)

const detailsOf = ({ group, resource }: Named, name: string): Status["details"] => ({
  ...(name === "" ? {} : { name }),
  ...(group === "" ? {} : { group }),
  kind: resource
})

export const notFound = (resource: Named, name: string): ApiError =>
  new ApiError(404, "NotFound", `${qualified(resource)} "${name}" not found`, detailsOf(resource, name))

export const noSuchResource = (): ApiError =>
  new ApiError(404, "NotFound", "the server could not find the requested resource", {})

export const alreadyExists = (resource: Named, name: string): ApiError =>
  new ApiError(409, "AlreadyExists", `${qualified(resource)} "${name}" already exists`, detailsOf(resource, name))

const conflict = (resource: Named, name: string, why: string): ApiError =>
  new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`,
    detailsOf(resource, name)
  )

export const staleVersion = (resource: Named, name: string): ApiError =>
  conflict(
    resource,
    name,
    "the object has been modified; please apply your changes to the latest version and try again"
  )

/** The replacement is for another object with the same name. */
export const wrongUid = (resource: Named, name: string, wanted: string, found: string): ApiError =>
  conflict(resource, name, `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${found}`)

/**
 * The deletion is for another object with the same name, or for an older state of the object. A real server names the
 * kind in this answer, not the plural.
 */
export const preconditionFailed = (
  { group, kind }: { readonly group: string; readonly kind: string },
  name: string,
  what: "UID" | "ResourceVersion",
  { found, wanted }: { readonly wanted: string; readonly found: string }
): ApiError => {
  const why = what === "UID" ? "deleted and then recreated" : "modified"
  const differs = `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${found})`
  return conflict({ group, resource: kind }, name, `${differs}. The object might have been ${why}`)
}

export const forbidden = (resource: Named, name: string, why: string): ApiError =>
  new ApiError(
    403,
    "Forbidden",
    `${qualified(resource)}${name === "" ? "" : ` "${name}"`} is forbidden: ${why}`,
    detailsOf(resource, name)
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
    `${supported.map((item) => JSON.stringify(item)).join(", ")}`,
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

/** 422. A real server names the kind in this answer, not the plural. */
export const invalid = (
  { group, kind }: { readonly group: string; readonly kind: string },
  name: string,
  errors: ReadonlyArray<FieldError>
): ApiError => {
  const texts = errors.map((error) => `${error.field}: ${error.message}`)
  const qualifiedKind = group === "" ? kind : `${kind}.${group}`
  return new ApiError(
    422,
    "Invalid",
    `${qualifiedKind} "${name}" is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`}`,
    { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind, causes: errors }
  )
}

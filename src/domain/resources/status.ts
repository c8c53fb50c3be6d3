import * as Schema from "effect/Schema"

/**
 * `metav1.Status` as another server sends it: an error's body, or the answer to a DELETE. Every field may be missing.
 */
export const Status = Schema.Struct({
  status: Schema.optionalKey(Schema.Literals(["Success", "Failure"])),
  code: Schema.optionalKey(Schema.Int),
  reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
  message: Schema.optionalKey(Schema.NullOr(Schema.String))
})
export type Status = typeof Status.Type

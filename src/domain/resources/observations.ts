import * as Schema from "effect/Schema"
import { Condition } from "./condition.ts"
import { int64, nullable } from "./field-schemas.ts"

/** What we add to the status of kinds whose readers skip fields that they do not know. */
export const observations = {
  conditions: nullable(Schema.Array(Condition)),
  observedGeneration: nullable(int64("The `metadata.generation` that this status was written for."))
}

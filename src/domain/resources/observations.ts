/** Fields of a status that we add to published kinds. */

import * as Schema from "effect/Schema"
import { Condition } from "./condition.ts"
import { int64, nullable } from "./field-schemas.ts"

/** Our additions to the status of published kinds, whose readers skip fields that they do not know. */
export const observations = {
  conditions: nullable(Schema.Array(Condition)),
  observedGeneration: nullable(int64("The `metadata.generation` that this status was written for."))
}

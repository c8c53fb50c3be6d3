/**
 * Conditions in the status of custom resources: `metav1.Condition`, with the rules for finding and setting one.
 *
 * Not here: which conditions there are, and what they say.
 */

import * as Schema from "effect/Schema"
import { cleanText, textLimits } from "../clean-text.ts"
import { shortText } from "./field-schemas.ts"
import { timestamp } from "./object-meta.ts"

/** `metav1.Condition`, an element of `status.conditions`. */
export const Condition = Schema.Struct({
  type: shortText(textLimits.name, "What is true or not, in CamelCase."),
  status: Schema.Literals(["True", "False", "Unknown"]).annotate({ description: "Whether it is." }),
  reason: shortText(textLimits.name, "One CamelCase word for a program."),
  message: shortText(textLimits.message, "A sentence for a person."),
  lastTransitionTime: Schema.String.annotate({ format: "date-time", description: "When `status` last changed." }),
  observedGeneration: Schema.optionalKey(
    Schema.Int.annotate({ format: "int64", description: "The `metadata.generation` that this was observed for." })
  )
})
export type Condition = typeof Condition.Type

/** The condition of a type, if the list has it. */
export const findCondition = (conditions: ReadonlyArray<Condition> | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type)

/**
 * The list with one condition set. `lastTransitionTime` changes only with `status`, and conditions of other writers
 * stay. If nothing changes, the result is the same list, so that a status at rest is not written again. The message is
 * cut, since words of others may be in it.
 */
export const withCondition = (
  conditions: ReadonlyArray<Condition>,
  given: Omit<Condition, "lastTransitionTime">,
  now: number
): ReadonlyArray<Condition> => {
  const next = { ...given, message: cleanText(given.message, textLimits.message) }
  const before = findCondition(conditions, next.type)
  if (
    before !== undefined &&
    before.status === next.status &&
    before.reason === next.reason &&
    before.message === next.message &&
    before.observedGeneration === next.observedGeneration
  ) {
    return conditions
  }
  const lastTransitionTime = before?.status === next.status ? before.lastTransitionTime : timestamp(now)
  const condition: Condition = { ...next, lastTransitionTime }
  return before === undefined
    ? [...conditions, condition]
    : conditions.map((other) => (other.type === next.type ? condition : other))
}

/** The message of a condition while it is not true. */
export const complaintOf = (
  conditions: ReadonlyArray<Condition> | null | undefined,
  type: string
): string | undefined => {
  const condition = findCondition(conditions ?? undefined, type)
  return condition === undefined || condition.status === "True" ? undefined : condition.message
}

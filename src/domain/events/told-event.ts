/**
 * An Event as people read it: the fields that a page shows.
 *
 * Not here: the object to create (event-object.ts).
 */

import * as Schema from "effect/Schema"
import { ObjectMeta } from "../resources/object-meta.ts"
import type { ResourceDescriptor } from "../resources/resource-descriptor.ts"
import { component, events } from "./event-object.ts"

const optionalText = Schema.optionalKey(Schema.NullOr(Schema.String))

const ToldEvent = Schema.Struct({
  metadata: ObjectMeta,
  involvedObject: Schema.Struct({ kind: optionalText, name: optionalText }),
  reason: optionalText,
  type: optionalText,
  message: optionalText,
  count: Schema.optionalKey(Schema.NullOr(Schema.Number)),
  lastTimestamp: optionalText
})
export type ToldEvent = typeof ToldEvent.Type

export const toldEvents: ResourceDescriptor<ToldEvent> = { ...events, schema: ToldEvent }

/** Selects the Events of operators among those of everything else in a cluster. */
export const ofOperators = { reportingComponent: component } as const

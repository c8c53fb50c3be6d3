import * as Schema from "effect/Schema"
import { oneLine } from "../one-line.ts"
import { timestamp, ObjectMeta } from "../resources/object-meta.ts"
import { type ResourceDescriptor, apiVersionOf } from "../resources/resource-descriptor.ts"
import { eventCatalogue, type SessionEvent } from "./event-catalogue.ts"

/** The view of an Event: none is ever read. */
const Event = Schema.Struct({ metadata: ObjectMeta })

/**
 * `core/v1`: what `kubectl describe` lists, by `involvedObject`, and what carries a count. The same objects are there
 * as `events.k8s.io/v1`.
 */
export const events: ResourceDescriptor<typeof Event.Type> = {
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  scope: "Namespaced",
  schema: Event
}

/** Events about objects of the whole cluster are in this namespace, and no other is allowed for them. */
export const eventNamespace = "default"

/** Length that `events.k8s.io/v1` allows for a note, in bytes; in characters it stays below for what we write. */
const longestMessage = 1_000

/** Who records. */
const component = "mirrord-operator"

/** The object that an Event is about, as `kubectl describe` looks for it: by name, kind and uid. */
export interface InvolvedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

/** How often an Event happened, and when first and last, epoch ms. */
export interface Occurrences {
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
}

const said = ({ message }: SessionEvent, { count, lastAt }: Occurrences) => ({
  message: oneLine(message, longestMessage),
  count,
  lastTimestamp: timestamp(lastAt)
})

/** The Event to create. `name` must be new in {@link eventNamespace}. */
export const eventObject = (name: string, about: InvolvedObject, event: SessionEvent, occurrences: Occurrences) => ({
  apiVersion: apiVersionOf(events),
  kind: events.kind,
  metadata: { name, namespace: eventNamespace },
  involvedObject: about,
  reason: event.reason,
  type: eventCatalogue[event.reason].type,
  firstTimestamp: timestamp(occurrences.firstAt),
  source: { component },
  reportingComponent: component,
  reportingInstance: "",
  ...said(event, occurrences)
})

/** The merge patch of an Event that happened again. */
export const eventRepeated = said

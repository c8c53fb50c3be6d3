/**
 * The Kubernetes object of an Event, to create and to patch.
 *
 * Not here: how often it is written (event-series.ts).
 */

import * as Schema from "effect/Schema"
import { oneLine } from "../one-line.ts"
import { timestamp, ObjectMeta } from "../resources/object-meta.ts"
import { type ResourceDescriptor, apiVersionOf } from "../resources/resource-descriptor.ts"
import { eventCatalogue, type SessionEvent } from "./event-catalogue.ts"

/** The view of an Event. Events are only written, so it names no field. */
const Event = Schema.Struct({ metadata: ObjectMeta })

/**
 * Events of `core/v1`, which carry a count and which `kubectl describe` lists by `involvedObject`. The API server shows
 * the same objects as `events.k8s.io/v1`.
 */
export const events: ResourceDescriptor<typeof Event.Type> = {
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  scope: "Namespaced",
  schema: Event
}

/** The only namespace that is allowed for Events about cluster-scoped objects. */
export const eventNamespace = "default"

/** Longest message, in characters. For our texts it stays below the 1 kB that `events.k8s.io/v1` allows a note. */
const maxMessage = 1_000

/** Name of the recorder in every Event. */
export const component = "mirrord-operator"

/** The object that an Event is about, as `kubectl describe` looks for it: by name, kind and uid. */
export interface InvolvedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  /** Missing for an object of the whole cluster. */
  readonly namespace?: string
  readonly uid: string
}

/** The namespace of the Events about an object: its own, or {@link eventNamespace}. */
export const namespaceOfEvents = ({ namespace }: InvolvedObject): string => namespace ?? eventNamespace

/** How often an Event happened, and when first and last, epoch ms. */
export interface Occurrences {
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
}

const repeatedFields = ({ message }: SessionEvent, { count, lastAt }: Occurrences) => ({
  message: oneLine(message, maxMessage),
  count,
  lastTimestamp: timestamp(lastAt)
})

/** The Event to create. `name` must be new in {@link namespaceOfEvents}. */
export const eventObject = (name: string, about: InvolvedObject, event: SessionEvent, occurrences: Occurrences) => ({
  apiVersion: apiVersionOf(events),
  kind: events.kind,
  metadata: { name, namespace: namespaceOfEvents(about) },
  involvedObject: about,
  reason: event.reason,
  type: eventCatalogue[event.reason].type,
  firstTimestamp: timestamp(occurrences.firstAt),
  source: { component },
  reportingComponent: component,
  reportingInstance: "",
  ...repeatedFields(event, occurrences)
})

/** The merge patch of an Event that happened again. */
export const eventRepeated = repeatedFields

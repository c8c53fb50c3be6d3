/**
 * The record of a temporary queue in the cluster: a MirrordClusterExternalResource with the queue's URL. The notes of
 * this operator alone stand in an annotation.
 *
 * Not here: when a queue is recorded, made and forgotten (split-plan.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { keptBy, withNames } from "../resources/kept-fields.ts"
import {
  MirrordClusterExternalResource,
  mirrordClusterExternalResources
} from "../resources/queues/mirrord-cluster-external-resource.ts"
import { apiVersionOf, type WatchedResource } from "../resources/resource-descriptor.ts"
import { ownerLabel } from "../sessions/names.ts"
import type { RecordedQueue } from "./observed-split.ts"
import { SplitPlace } from "./split-place.ts"
import { Source } from "./stored-split.ts"

const annotation = "operator.metalbear.co/split-queue"

/** UTF-16 code units of the annotation, at most. */
const longest = 16_384

const Content = Schema.fromJsonString(
  Schema.Struct({
    place: SplitPlace,
    source: Source,
    owner: Schema.Union([
      Schema.Struct({ _tag: Schema.tag("Main"), split: Schema.String }),
      Schema.Struct({
        _tag: Schema.tag("Session"),
        session: Schema.String,
        mode: Schema.Literals(["steal", "mirror"])
      })
    ]),
    /** Milliseconds that it stays after its session, since other clusters may send to it. */
    sharedMillis: Schema.optional(Schema.Number),
    /** The key on the copies of the session that has the queue. */
    sessionKey: Schema.optional(Schema.String),
    quietSince: Schema.optional(Schema.Number)
  })
)
type Content = typeof Content.Type

const read = Schema.decodeUnknownResult(Content)
const write = Schema.encodeSync(Content)

/** The records as the operator watches them. */
export const queueRecords: WatchedResource<MirrordClusterExternalResource> = {
  ...mirrordClusterExternalResources,
  keeps: withNames(keptBy(MirrordClusterExternalResource), { labels: [], annotations: [annotation], longest })
}

/** A recorded queue without what is seen of it at SQS. */
export interface StoredQueue extends Omit<RecordedQueue, "state"> {
  /** The name of the object. */
  readonly object: string
  readonly place: SplitPlace
  readonly url: string
  /** The key on the copies of the session that has the queue; `undefined` if they have none. */
  readonly sessionKey: string | undefined
  /** How long other clusters may send to it when its session is over, ms; `undefined` if none does. */
  readonly sharedMillis?: number | undefined
}

/** The URL of a queue beside another queue: in the same account and region. */
export const queueBeside = (url: string, name: string): string => `${url.slice(0, url.lastIndexOf("/") + 1)}${name}`

/** The queue of an object; `undefined` if the object is no record of this operator. */
export const storedQueue = ({ metadata, spec }: MirrordClusterExternalResource): StoredQueue | undefined => {
  const url = spec.sqsQueue?.nameOrUrl
  const content = Result.getOrUndefined(read(metadata.annotations?.[annotation]))
  if (url === undefined || content === undefined) return undefined
  const { quietSince, sessionKey } = content
  return { ...content, quietSince, sessionKey, object: metadata.name, url, name: url.slice(url.lastIndexOf("/") + 1) }
}

const noted = (content: Content) => ({ annotations: { [annotation]: write(content) } })

/** The object for a queue that is to be made. `object`: its name. */
export const newQueueObject = (
  object: string,
  place: SplitPlace,
  { sharedMillis, name, owner, sessionKey, source }: Omit<StoredQueue, "object" | "place" | "quietSince" | "url">
) => ({
  apiVersion: apiVersionOf(mirrordClusterExternalResources),
  kind: mirrordClusterExternalResources.kind,
  metadata: { name: object, labels: ownerLabel, ...noted({ place, source, owner, sessionKey, sharedMillis }) },
  spec: { sqsQueue: { nameOrUrl: queueBeside(source.url, name) } }
})

/** A merge patch by which a queue is quiet. `quietSince`: epoch ms. */
export const quietQueue = ({ owner, place, sessionKey, source }: StoredQueue, quietSince: number) => ({
  metadata: noted({ place, source, owner, sessionKey, quietSince })
})

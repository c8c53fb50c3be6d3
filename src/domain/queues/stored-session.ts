/**
 * A session's part in a split as the cluster holds it: a MirrordClusterSplitSession, which lives as long as its
 * session.
 *
 * Not here: what becomes of it (session-steps.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { asObject, at } from "../json.ts"
import { keptBy, withNames } from "../resources/kept-fields.ts"
import { isBeingDeleted, type ObjectMeta, timeOf, timestamp } from "../resources/object-meta.ts"
import {
  MirrordClusterSplitSession,
  mirrordClusterSplitSessions
} from "../resources/queues/mirrord-cluster-split-session.ts"
import { apiVersionOf, type WatchedResource } from "../resources/resource-descriptor.ts"
import type { SessionOwner } from "../resources/session-shapes.ts"
import { ownerLabel } from "../sessions/names.ts"
import type { VariableUpdates } from "./environment-updates.ts"
import type { FilterText } from "./message-filter.ts"
import type { GivenQueue, SessionPhase, WantedSession } from "./observed-split.ts"
import { sharedMillis } from "./shared-queue.ts"
import type { NewStatus, SessionResource } from "./split-action.ts"
import { placeOf, referenceOf, type SplitPlace } from "./split-place.ts"
import { queueBeside } from "./stored-queue.ts"
import type { WantedSplit } from "./wanted-split.ts"

const annotations = {
  /** When the session started, in epoch ms: its parent's time where it has a parent. */
  startedAt: "operator.metalbear.co/split-started-at",
  /** Milliseconds after the session for which other clusters may send to its queues here. */
  shared: "operator.metalbear.co/split-shared",
  /** The queues that another cluster has made. */
  given: "operator.metalbear.co/split-given-queues"
} as const

/** UTF-16 code units of an annotation, at most. */
const longest = 65_536

/** The sessions of splits as the operator watches them. */
export const splitSessions: WatchedResource<MirrordClusterSplitSession> = {
  ...mirrordClusterSplitSessions,
  keeps: withNames(keptBy(MirrordClusterSplitSession), {
    labels: [],
    annotations: Struct.keys(annotations).map((key) => annotations[key]),
    longest
  })
}

const Given = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ id: Schema.optional(Schema.String), original: Schema.String, queue: Schema.String }))
)
const readGiven = Schema.decodeUnknownResult(Given)
const writeGiven = Schema.encodeSync(Given)

/** A session's part in a split. */
export interface StoredSession {
  readonly metadata: ObjectMeta
  readonly place: SplitPlace
  readonly container: string
  /** The name of its MirrordClusterSession. */
  readonly session: string
  readonly owner: SessionOwner
  readonly sessionKey: string | undefined
  /** How long other clusters may send to the session's queues here when it is over, ms; `undefined` if none does. */
  readonly sharedMillis: number | undefined
  /** As the user wrote them, by the ids that the user wrote. */
  readonly filters: WantedSplit["filters"]
  readonly modes: WantedSplit["modes"]
  /** All that the plan has to know beside the ids that the filters are for. */
  readonly wanted: Omit<WantedSession, "modes" | "problem">
  /** The new values of its variables, by container; empty until its queues are there. */
  readonly updates: ReadonlyMap<string, VariableUpdates>
  /** The names or URLs of its queues, by the ids of the configuration; empty until its queues are there. */
  readonly names: ReadonlyArray<{ readonly id: string; readonly original: string; readonly temporary: string }>
  /** Why it cannot go on; `undefined` while it can. `code`: as of an HTTP answer. */
  readonly failure: { readonly code: number; readonly message: string } | undefined
}

type Status = NonNullable<MirrordClusterSplitSession["status"]>

const phases = [
  "cleanupError",
  "startError",
  "ready",
  "resourcesReady",
  "starting"
] as const satisfies ReadonlyArray<SessionPhase>

const phaseOf = (status: Status | null | undefined): SessionPhase | undefined =>
  phases.find((phase) => (status?.[phase] ?? undefined) !== undefined)

const namesOf = (status: Status | null | undefined): StoredSession["names"] =>
  ((status?.ready ?? status?.resourcesReady)?.tmpResources ?? []).flatMap((resource) =>
    Object.entries(asObject(at(resource, "queue"))).flatMap(([original, temporary]) =>
      typeof temporary === "string" ? [{ id: resource.queueId, original, temporary }] : []
    )
  )

const updatesOf = (status: Status | null | undefined): StoredSession["updates"] => {
  const { envUpdates = {} } = status?.ready ?? status?.resourcesReady ?? {}
  return new Map(
    Object.entries(envUpdates).map(([container, values]) => [
      container,
      new Map(values.map(({ name, value }) => [name, value]))
    ])
  )
}

/** The id in the name of the object; `undefined` for names of others. */
const idOf = (name: string): bigint | undefined =>
  /^[0-9a-f]{16}\./u.test(name) ? BigInt(`0x${name.slice(0, 16)}`) : undefined

const givenOf = (metadata: ObjectMeta): WantedSession["queues"] => {
  const text = metadata.annotations?.[annotations.given]
  if (text === undefined) return { _tag: "Own" }
  // A text that cannot be read gives no queue: one of this cluster's own would have no reader.
  const given = Result.getOrElse(readGiven(text), () => [])
  return { _tag: "Given", given: given.map((queue): GivenQueue => ({ ...queue, id: queue.id })) }
}

type Wishes = Pick<StoredSession, "filters" | "modes">

const wishesOf = ({ queues: all }: MirrordClusterSplitSession["spec"]): Wishes => {
  const queues = all.filter(({ kind }) => kind === "sqs")
  return {
    filters: new Map(
      queues.map(({ headersFilter, id, jqFilter }): readonly [string, FilterText] => [
        id,
        { attributes: headersFilter ?? {}, program: jqFilter ?? undefined }
      ])
    ),
    modes: new Map(queues.flatMap(({ id, mode }) => (mode === undefined ? [] : [[id, mode] as const])))
  }
}

const sharedIn = ({ annotations: notes }: ObjectMeta): number | undefined =>
  Number(notes?.[annotations.shared]) || undefined

/** When a session started, epoch ms. */
const startOf = ({ annotations: notes, creationTimestamp }: ObjectMeta): number =>
  Number(notes?.[annotations.startedAt] ?? timeOf(creationTimestamp) ?? 0)

/** The session of an object; `undefined` if the object is none that this operator can split for. */
export const storedSession = ({ metadata, spec, status }: MirrordClusterSplitSession): StoredSession | undefined => {
  const place = placeOf(spec.namespace, spec.target)
  const id = idOf(metadata.name)
  if (place === undefined || id === undefined) return undefined
  return {
    metadata,
    place,
    container: spec.target.container ?? "",
    session: metadata.ownerReferences?.[0]?.name ?? "",
    owner: spec.owner,
    sessionKey: spec.sessionKey ?? undefined,
    sharedMillis: sharedIn(metadata),
    ...wishesOf(spec),
    wanted: {
      id,
      uid: metadata.uid ?? "",
      startedAt: startOf(metadata),
      queues: givenOf(metadata),
      phase: phaseOf(status),
      isEnding: isBeingDeleted(metadata)
    },
    updates: updatesOf(status),
    names: namesOf(status),
    failure: status?.startError ?? status?.cleanupError?.error ?? undefined
  }
}

/** The longest name of an object, in characters (RFC 1123 subdomain). */
const maxName = 253

/**
 * The name of a session's part in the split of a workload, as the published operator has it: it begins with the hex
 * digits of the session's id. `session`: the name of its MirrordClusterSession.
 */
export const splitSessionName = (
  session: string,
  { kind, name }: SplitPlace,
  sha256Hex: (text: string) => string
): string => {
  const hex = /[0-9a-f]{16}/u.exec(session)?.[0] ?? sha256Hex(session).slice(0, 16)
  const whole = `${hex}.${name}.${kind}`
  return whole.length <= maxName ? whole : `${hex}.${sha256Hex(name).slice(0, 32)}.${kind}`
}

export interface NewSession {
  readonly name: string
  readonly place: SplitPlace
  readonly container: string
  readonly wanted: WantedSplit
  readonly owner: SessionOwner
  /** The MirrordClusterSession. */
  readonly session: { readonly apiVersion: string; readonly kind: string; readonly metadata: ObjectMeta }
  /** Epoch ms. */
  readonly startedAt: number
}

/** The object by which a session orders its part in a split. */
export const newSessionObject = ({ container, name, owner, place, session, startedAt, wanted }: NewSession) => {
  const { apiVersion, kind, metadata } = session
  const { filters, given, modes, sessionKey } = wanted
  return {
    apiVersion: apiVersionOf(mirrordClusterSplitSessions),
    kind: mirrordClusterSplitSessions.kind,
    metadata: {
      name,
      labels: ownerLabel,
      annotations: {
        [annotations.startedAt]: String(startedAt),
        ...(wanted.isShared && { [annotations.shared]: String(sharedMillis(metadata)) }),
        ...(given !== undefined && { [annotations.given]: writeGiven(given) })
      },
      ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "", controller: true }]
    },
    spec: {
      namespace: place.namespace,
      owner,
      target: { ...referenceOf(place), container },
      queues: [...filters].map(([id, { attributes, program }]) => ({
        id,
        kind: "sqs",
        headersFilter: attributes,
        ...(program !== undefined && { jqFilter: program }),
        ...(modes.has(id) && { mode: modes.get(id) })
      })),
      ...(sessionKey !== undefined && { sessionKey })
    }
  }
}

/**
 * A queue as the workload names its own: a URL for a URL, and a name for a name. Other clusters than the session's
 * default have the URLs of its queues.
 */
const shownAs = (reference: string, queue: string): string => {
  if (!reference.includes("/")) return queue.slice(queue.lastIndexOf("/") + 1)
  return queue.includes("/") ? queue : queueBeside(reference, queue)
}

const resourcesOf = (
  resources: ReadonlyArray<SessionResource>,
  updates: ReadonlyMap<string, VariableUpdates>
): NonNullable<Status["ready"]> => ({
  envUpdates: Object.fromEntries(
    [...updates].map(([container, values]) => [container, [...values].map(([name, value]) => ({ name, value }))])
  ),
  tmpResources: resources.flatMap(({ queue, source: { ids, reference } }) =>
    ids.map((queueId) => ({ queueId, queue: { [reference]: shownAs(reference, queue) } }))
  )
})

/**
 * A merge patch of the status, which has exactly one phase. `updates`: the new values of the program's variables; empty
 * in phases without queues. `now`: epoch ms.
 */
export const statusPatch = (status: NewStatus, updates: ReadonlyMap<string, VariableUpdates>, now: number): object => {
  const none = Object.fromEntries(phases.map((phase) => [phase, null]))
  switch (status.phase) {
    case "starting":
      return { ...none, starting: { start_time_utc: timestamp(now) } }
    case "resourcesReady":
    case "ready":
      return { ...none, [status.phase]: resourcesOf(status.resources, updates) }
    case "startError":
    case "cleanupError": {
      const { code, message } = status
      const error = { code, reason: "QueuesNotSplit", message }
      return { ...none, [status.phase]: status.phase === "startError" ? error : { error } }
    }
  }
}

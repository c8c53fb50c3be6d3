/**
 * A session's wish for a split on its way between clusters: in an annotation of the parent, and of its children, which
 * have no published field for it. The default cluster's child says in return which queues were made.
 *
 * Not here: carrying the wish out (app/queues).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { MirrordClusterSessionSpec } from "../resources/mirrord-cluster-session.ts"
import type { ObjectMeta } from "../resources/object-meta.ts"
import { splitAnnotations } from "../sessions/names.ts"
import { fromKubeTarget } from "../targets/kube-target.ts"
import { targetKinds } from "../targets/target.ts"
import type { GivenQueue } from "./observed-split.ts"
import type { NamedWorkload, WantedSplit } from "./wanted-split.ts"

/** A split. Queues that were made come beside it. */
export interface SplitWish extends Omit<WantedSplit, "workload" | "given"> {
  /** The workload of a session on a copy of it; `undefined` if the workload is the session's target. */
  readonly workload: Omit<NamedWorkload, "namespace"> | undefined
}

const Queues = Schema.Array(
  Schema.Struct({ id: Schema.optional(Schema.String), original: Schema.String, queue: Schema.String })
)

const Wish = Schema.fromJsonString(
  Schema.Struct({
    filters: Schema.Record(
      Schema.String,
      Schema.Struct({
        attributes: Schema.Record(Schema.String, Schema.String),
        program: Schema.optional(Schema.String)
      })
    ),
    modes: Schema.Record(Schema.String, Schema.Literals(["steal", "mirror"])),
    workload: Schema.optional(
      Schema.Struct({
        kind: Schema.Literals(targetKinds),
        name: Schema.String,
        container: Schema.optional(Schema.String)
      })
    ),
    isAutomatic: Schema.Boolean,
    isShared: Schema.Boolean,
    startedAt: Schema.optional(Schema.Number),
    sessionKey: Schema.optional(Schema.String)
  })
)
const readText = Schema.decodeUnknownResult(Wish)
const writeText = Schema.encodeSync(Wish)
const MadeQueues = Schema.fromJsonString(Queues)
const readQueues = Schema.decodeUnknownResult(MadeQueues)
const writeQueues = Schema.encodeSync(MadeQueues)

type Annotated = Pick<ObjectMeta, "annotations">

/** The wish of a session; `undefined` if it has none that can be read. */
export const readWish = ({ annotations }: Annotated): SplitWish | undefined => {
  const found = Result.getOrUndefined(readText(annotations?.[splitAnnotations.wish]))
  if (found === undefined) return undefined
  const { filters, modes, workload, ...rest } = found
  return {
    ...rest,
    workload: workload && { ...workload, container: workload.container },
    filters: new Map(
      Object.entries(filters).map(([id, { attributes, program }]) => [id, { attributes, program }] as const)
    ),
    modes: new Map(Object.entries(modes)),
    startedAt: rest.startedAt,
    sessionKey: rest.sessionKey
  }
}

/** The workload whose queues a session splits; `undefined` if neither its wish nor its spec's target names it. */
export const wishedWorkload = (
  wish: SplitWish,
  { namespace, target }: Pick<MirrordClusterSessionSpec, "namespace" | "target">
): NamedWorkload | undefined => {
  if (wish.workload !== undefined) return { namespace, ...wish.workload }
  const named = fromKubeTarget(target)
  return named?._tag === "Workload"
    ? { namespace, kind: named.kind, name: named.name, container: named.container }
    : undefined
}

/** The annotation with a wish. */
export const wishNote = ({ filters, modes, ...wish }: SplitWish): Readonly<Record<string, string>> => ({
  [splitAnnotations.wish]: writeText({
    ...wish,
    filters: Object.fromEntries(filters),
    modes: Object.fromEntries(modes)
  })
})

const queuesIn = (text: string | undefined): ReadonlyArray<GivenQueue> | undefined => {
  const found = text === undefined ? undefined : Result.getOrUndefined(readQueues(text))
  return found?.map(({ id, original, queue }) => ({ id, original, queue }))
}

/** The queues of a session that another cluster has made; `undefined` if its own cluster makes them. */
export const givenQueues = ({ annotations }: Annotated): ReadonlyArray<GivenQueue> | undefined =>
  queuesIn(annotations?.[splitAnnotations.given])

/** Whether the queues of a session are named on its object. */
export const hasMadeQueues = ({ annotations }: Annotated): boolean => annotations?.[splitAnnotations.made] !== undefined

/** The annotation by which a primary learns the queues of a session. */
export const madeQueuesNote = (queues: ReadonlyArray<GivenQueue>): Readonly<Record<string, string>> => ({
  [splitAnnotations.made]: writeQueues(queues)
})

/**
 * Shapes that the unified and the legacy kinds of branch databases share (published-chart.md §1.8).
 *
 * Not here: the options of single engines.
 */

import * as Schema from "effect/Schema"
import { ageColumn, column } from "../custom-resource.ts"
import {
  anything,
  exactlyOne,
  int64,
  literals,
  nullable,
  open,
  shortText,
  shortTextMap,
  shortTexts,
  text,
  time,
  truth,
  unsigned
} from "../field-schemas.ts"
import { observations } from "../observations.ts"
import { maxEntries } from "../open-api-schema.ts"
import { SessionOwner } from "../session-shapes.ts"

/** The largest archive of migrations, in bytes: a ConfigMap has to hold it. */
export const maxArchive = 1_048_576
/** The same in base64, in characters. */
export const maxArchiveText = Math.ceil(maxArchive / 3) * 4

/**
 * Bounds of what an order of a branch may hold, characters and entries: far more than clients send, and far less than
 * an object may. The operator refuses some of it earlier, with sentences of its own.
 */
const orderLimits = { text: 4_096, value: 16_384, entries: 1_000 } as const

/** A text of an order. */
export const orderText = (description: string) => shortText(orderLimits.text, description)
/** Texts of an order, such as the arguments of a program. */
export const orderTexts = (description: string) => shortTexts(orderLimits.entries, orderLimits.value, description)
export const orderTextMap = (description: string) => shortTextMap(orderLimits.entries, orderLimits.value, description)

/** The origin of the source's address. Each value is a source or a list of sources (published-chart.md §1.9). */
const ConnectionSource = Schema.Struct({
  url: Schema.optionalKey(anything("Where the whole URL comes from.")),
  params: Schema.optionalKey(
    Schema.Struct({
      host: Schema.optionalKey(anything("Where the host comes from.")),
      port: Schema.optionalKey(anything("Where the port comes from.")),
      user: Schema.optionalKey(anything("Where the user comes from.")),
      password: Schema.optionalKey(anything("Where the password comes from.")),
      database: Schema.optionalKey(anything("Where the database's name comes from.")),
      extra: Schema.optionalKey(
        Schema.Record(Schema.String, anything("Where the value comes from.")).annotate({
          description: "Further parameters of the engine.",
          [maxEntries]: orderLimits.entries
        })
      )
    }).annotate({ description: "Where the parts of the address come from." })
  )
}).annotate({ description: "How the workload finds its database.", ...exactlyOne("url", "params") })
export type ConnectionSource = typeof ConnectionSource.Type

/** Credentials of a cloud's identity; the other fields are sources as in {@link ConnectionSource}. */
export const IamAuth = open({ type: literals(["aws_rds", "gcp_cloud_sql"], "Whose identity.") }).annotate({
  description: "Sign in to the source with a cloud identity."
})

/** Tables or collections by name, each perhaps with a filter. */
export const CopiedParts = Schema.Record(
  Schema.String,
  Schema.Struct({ filter: nullable(shortText(orderLimits.value, "Copy only what matches, in the engine's language.")) })
).annotate({ description: "Copied whatever `mode` says.", [maxEntries]: orderLimits.entries })

export const sqlMode = literals(["empty", "schema", "all"], "Nothing, the schema, or the schema and all rows.")
export const allOrNothing = literals(["empty", "all"], "Nothing or everything.")

/** The field `copy` of every engine; without it a branch is empty. */
export const copied = <S extends Schema.Top>(schema: S) =>
  Schema.optionalKey(schema.annotate({ description: "What the branch starts with.", default: { mode: "empty" } }))

/** `spec` that the unified and the legacy kinds have in common. */
export const branchFields = {
  id: orderText("Sessions with the same id share the branch."),
  connectionSource: ConnectionSource,
  databaseName: nullable(orderText("Name of the database.")),
  ttlSecs: unsigned("The branch is deleted this many seconds after its last use.")
}

/**
 * The status of all four kinds (published-chart.md §1.10). `conditions`, `observedGeneration` and `copy` are our
 * additions.
 */
export const BranchStatus = Schema.Struct({
  phase: literals(["Init", "Pending", "Ready", "Failed"], "Where the branch is in its life."),
  expireTime: time("When the branch is deleted if nothing uses it."),
  podName: nullable(text("Name of the database's pod.")),
  error: nullable(text("Why the branch failed.")),
  sessionInfo: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Struct({ id: text("Id of the session."), owner: SessionOwner })).annotate({
      description: "Sessions that use the branch.",
      default: {}
    })
  ),
  migrations: nullable(
    Schema.Struct({
      observedGeneration: int64("The `metadata.generation` whose migrations these are."),
      phase: literals(["Running", "Succeeded", "Failed"], "How far they are."),
      error: nullable(text("Why they failed."))
    }).annotate({ description: "What became of `spec.migrations`." })
  ),
  copy: nullable(
    Schema.Struct({
      cluster: text("Name of its cluster."),
      namespace: text("Its namespace there."),
      uid: text("Its UID there."),
      borrowed: nullable(truth("Somebody else made it, so it is neither changed nor deleted from here."))
    }).annotate({ description: "The branch in the default cluster of a fleet whose status this one repeats." })
  ),
  ...observations
}).annotate({ description: "What the operator observed." })
export type BranchStatus = typeof BranchStatus.Type

export const branchColumns = [
  column("ID", ".spec.id"),
  column("Target", ".spec.target.name"),
  column("Phase", ".status.phase"),
  column("Expires", ".status.expireTime"),
  ageColumn
]

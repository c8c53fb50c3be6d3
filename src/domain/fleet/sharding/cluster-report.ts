/**
 * The report of a cluster: what its owner knows of it, as text for the replica that leads.
 *
 * Not here: the children of sessions, which are reported as they are, and where reports are kept (app).
 */

import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { ClusterState } from "../health.ts"

const tagged = <Tag extends string, Fields extends Schema.Struct.Fields>(tag: Tag, fields: Fields) =>
  Schema.Struct({ _tag: Schema.Literal(tag), ...fields })

const NotEngaged = tagged("NotEngaged", { since: Schema.Number, message: Schema.String })
const Refused = tagged("Refused", { since: Schema.Number, message: Schema.String })
const CheckTimes = Schema.Struct({ askedAt: Schema.Number, checkedAt: Schema.Number })

const State = Schema.Union([
  tagged("Connecting", {
    reason: Schema.Union([NotEngaged, tagged("NotChecked", { failedChecks: Schema.Number })])
  }),
  tagged("Connected", {
    lastCheck: CheckTimes,
    operator: tagged("Connected", {
      operatorVersion: Schema.String,
      fingerprint: Schema.optional(Schema.String),
      parametersInHeader: Schema.Boolean,
      branchFeatures: Schema.optionalKey(Schema.Array(Schema.String))
    }),
    failedChecks: Schema.Number
  }),
  tagged("Lost", {
    reason: Schema.Union([
      NotEngaged,
      Refused,
      tagged("ChecksFailed", {
        lastCheck: CheckTimes,
        failedChecks: Schema.Number,
        message: Schema.String,
        lacksRight: Schema.Boolean
      })
    ])
  })
])

const Report = Schema.Struct({
  /** When the report was written, by the owner's clock. */
  at: Schema.Number,
  /** URL of the API server that the owner is connected to: a report on another server says nothing. */
  server: Schema.String,
  state: State,
  /** Since when the cluster is connecting, connected or lost. */
  since: Schema.Number,
  /** Whether the cluster is the one that its name stands for, and has credentials. */
  isUsable: Schema.Boolean,
  /** Since when its children cannot be read, if so. */
  unreadableSince: Schema.optionalKey(Schema.Number)
})

/** An owner's knowledge of a cluster. Times are epoch ms, by the clock of the process that holds it. */
export type ClusterReport = Omit<typeof Report.Type, "at" | "state"> & { readonly state: ClusterState }

const Text = Schema.fromJsonString(Report)

/** `now`: epoch ms, by the owner's clock. */
export const reportText = (report: ClusterReport, now: number): string =>
  JSON.stringify({ ...report, at: now } satisfies typeof Report.Type)

const movedState = (state: typeof State.Type, by: number): ClusterState => {
  const moved = <Times extends { readonly askedAt: number; readonly checkedAt: number }>(times: Times) => ({
    askedAt: times.askedAt + by,
    checkedAt: times.checkedAt + by
  })
  switch (state._tag) {
    case "Connected":
      return {
        ...state,
        lastCheck: moved(state.lastCheck),
        // A key without a value is dropped by JSON.
        operator: { ...state.operator, fingerprint: state.operator.fingerprint }
      }
    case "Connecting":
      return state.reason._tag === "NotEngaged"
        ? { ...state, reason: { ...state.reason, since: state.reason.since + by } }
        : state
    case "Lost":
      return {
        ...state,
        reason:
          state.reason._tag === "ChecksFailed"
            ? { ...state.reason, lastCheck: moved(state.reason.lastCheck) }
            : { ...state.reason, since: state.reason.since + by }
      }
  }
}

/**
 * Reads a report that has just come. Its times are moved to the reader's clock, since those of hosts differ
 * (failures.md §4.12): it counts as written at `now`. Nothing for a text that is no report, as of another release.
 */
export const readReport = (text: string, now: number): ClusterReport | undefined => {
  const read = Option.getOrUndefined(Schema.decodeUnknownOption(Text)(text))
  if (read === undefined) return undefined
  const { at, state, ...report } = read
  const by = now - at
  return {
    ...report,
    since: report.since + by,
    state: movedState(state, by),
    ...(report.unreadableSince === undefined ? {} : { unreadableSince: report.unreadableSince + by })
  }
}

/** The parts of a report whose change is news; the time of the last check is none. */
export const reportNews = ({ isUsable, server, since, state, unreadableSince }: ClusterReport): string => {
  const known = state._tag === "Connected" ? { operator: state.operator, failedChecks: state.failedChecks } : {}
  const connecting = state._tag === "Connecting" ? state.reason._tag : undefined
  const reason = state._tag === "Lost" ? state.reason.message : connecting
  return JSON.stringify([server, state._tag, since, isUsable, unreadableSince, known, reason])
}

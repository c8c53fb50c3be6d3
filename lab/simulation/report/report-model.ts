/**
 * The contents of the report page as plain data. All times are virtual seconds since the beginning of the story's
 * world.
 */

import type { Look } from "../../../src/domain/commands/ui/look.ts"

/** A row of the page's time line. */
export interface ReportRow {
  /** Unique, and the text at its left. */
  readonly id: string
  /** The swim lane to which it belongs: a client or a cluster. */
  readonly lane: string
}

/** Something that lasts, with a look of all pages. */
export interface ReportBar {
  readonly row: string
  readonly from: number
  readonly to: number
  readonly look: Look
  /** The text that a person reads about it. */
  readonly text: string
}

/** A fault that lasts, behind all rows of a lane. */
export interface ReportBand {
  readonly lane: string
  readonly from: number
  readonly to: number
  readonly kind: string
  readonly text: string
}

/** Something that happens at a moment. */
export interface ReportMark {
  readonly row: string
  readonly at: number
  readonly look: "fault" | "start" | "end" | "broken"
  readonly text: string
}

/** A request that entered a cluster, and its answer. */
export interface ReportRequest {
  readonly id: number
  readonly row: string
  readonly at: number
  readonly by: "workload" | "client" | "nobody" | "pending"
  /** When the request was answered, if it was; `client` is the row of the client that answered. */
  readonly answeredAt: number | undefined
  readonly client: string | undefined
  readonly text: string
}

/** Number of messages of a lane in one second. */
export interface ReportCount {
  readonly lane: string
  readonly second: number
  readonly count: number
}

export interface ReportEvent {
  readonly at: number
  readonly lane: string
  readonly kind: "step" | "fault" | "session" | "operator" | "agent" | "client" | "request" | "broken"
  readonly text: string
}

/** Everything that the page shows of a story. */
export interface ReportModel {
  readonly title: string
  readonly seed: string
  readonly passed: boolean
  /** `passed`, or the sentence that broke. */
  readonly verdict: string
  readonly story: ReadonlyArray<string>
  /** From here on all faults have ended and the world recovers. */
  readonly actsEnd: number
  readonly end: number
  readonly rows: ReadonlyArray<ReportRow>
  readonly bars: ReadonlyArray<ReportBar>
  readonly bands: ReadonlyArray<ReportBand>
  readonly marks: ReadonlyArray<ReportMark>
  readonly requests: ReadonlyArray<ReportRequest>
  readonly messages: ReadonlyArray<ReportCount>
  readonly events: ReadonlyArray<ReportEvent>
}

/**
 * The content of the page of `braid ui`, as data: the fleet, its sessions as lanes over clusters, and what happened.
 * Every text on the page is made here; the page only draws it.
 *
 * Not here: reading the fleet (app/commands/ui/read-fleet.ts), and what has changed since the last look
 * (page-changes.ts).
 */

import { cleanText, textLimits } from "../../clean-text.ts"
import type { ToldEvent } from "../../events/told-event.ts"
import { mirrordMultiClusterSessions } from "../../resources/mirrord-multi-cluster-session.ts"
import { timeOf, timestamp } from "../../resources/object-meta.ts"
import { type OperatorOverview, operatorOverview } from "../overview/operator-overview.ts"
import type { Look } from "./look.ts"
import { type PageCluster, pageClusters } from "./page-cluster.ts"
import { idOf, type PageSession, pageSessions, withoutLocal } from "./page-session.ts"
import type { SeenFleet } from "./seen-fleet.ts"

/** A moment to the second: `2026-11-22 01:42:07 UTC`. */
export const timeText = (at: number): string => `${timestamp(at).slice(0, 19).replace("T", " ")} UTC`

/** Something that happened: an Event of the operator, a change that the page has seen, a deed of a local process. */
export interface PageEvent {
  /** Epoch ms. */
  readonly at: number
  /** As {@link timeText} writes it. */
  readonly time: string
  readonly kind: "event" | "change" | "local"
  readonly look: Look
  /** The session, cluster or other object that it is about. */
  readonly about: string
  readonly text: string
}

/** Everything that the page shows. */
export interface FleetPage {
  readonly context: string
  /** Epoch ms. */
  readonly readAt: number
  readonly time: string
  /** The operator in a line. */
  readonly summary: string
  /** Why the rest is the last known state, and what to do; `undefined` if it is the present one. */
  readonly problem: { readonly message: string; readonly fix: string } | undefined
  /** Troubles of the fleet as a whole. */
  readonly notes: ReadonlyArray<string>
  /** The parts that the person may not see, each as a sentence. */
  readonly unseen: ReadonlyArray<string>
  readonly clusters: ReadonlyArray<PageCluster>
  /** Names of the columns of the lanes. */
  readonly lanes: ReadonlyArray<string>
  readonly sessions: ReadonlyArray<PageSession>
  /** Newest first. */
  readonly events: ReadonlyArray<PageEvent>
  /** Sentences in place of empty tables: how they fill. `undefined` where there is something. */
  readonly empty: { readonly clusters: string | undefined; readonly sessions: string | undefined }
}

const partOf = ({ isMember, isPrimary }: OperatorOverview): string => {
  if (isPrimary) return "primary of a fleet"
  return isMember ? "member of a fleet" : "operator of one cluster"
}

const summaryOf = (overview: OperatorOverview): string => {
  const { protocolVersion, version } = overview
  const protocol = protocolVersion === undefined ? "" : `, protocol ${protocolVersion}`
  return cleanText(`${partOf(overview)}, operator ${version}${protocol}`, textLimits.message)
}

const fleetNotes = ({ endingCredentials, refusedConfiguration }: OperatorOverview): ReadonlyArray<string> => [
  ...(endingCredentials === undefined ? [] : [endingCredentials]),
  ...(refusedConfiguration === undefined
    ? []
    : [`The changed configuration is not used, the last good one stays: ${refusedConfiguration}`])
]

/** An Event of the operator; `undefined` if its time cannot be read. */
const pageEvent = (event: ToldEvent): PageEvent | undefined => {
  const { count, involvedObject, lastTimestamp, message, reason, type } = event
  const at = timeOf(lastTimestamp)
  if (at === undefined) return undefined
  const name = involvedObject.name ?? ""
  const isOfSession = involvedObject.kind === mirrordMultiClusterSessions.kind
  const times = (count ?? 1) > 1 ? ` (${count} times)` : ""
  return {
    at,
    time: timeText(at),
    kind: "event",
    look: type === "Warning" ? "failed" : "running",
    about: cleanText(isOfSession ? idOf(name) : name, textLimits.name),
    text: cleanText(`${reason ?? ""}: ${message ?? ""}${times}`, textLimits.message)
  }
}

/** Deeds of this machine's processes in sessions of the fleet. */
const localEvents = ({ localEvents: known, sessions }: SeenFleet): ReadonlyArray<PageEvent> => {
  const ids = new Set(sessions.map(({ name }) => idOf(name)))
  return [...known].flatMap(([session, events]) => {
    const about = idOf(session)
    return ids.has(about)
      ? events.map(({ at, count, text }): PageEvent => {
          const times = count > 1 ? ` (${count} times)` : ""
          return { at, time: timeText(at), kind: "local", look: "running", about, text: `${text}${times}` }
        })
      : []
  })
}

const emptyClusters = (overview: OperatorOverview): string =>
  overview.isPrimary
    ? "This primary has no clusters. braid join NAME adds one."
    : "This operator is no primary, so there is no fleet. Choose the primary of one with --context."

/** How to begin a session. */
const emptySessions =
  "There are no sessions. Start one: mirrord exec --target deployment/NAME -- COMMAND; it appears here by itself."

const clean = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts.map((text) => cleanText(text, textLimits.message))

/** The page for what a look has found. `now`: epoch ms. */
export const fleetPage = (seen: SeenFleet, now: number): FleetPage => {
  const overview = operatorOverview(seen.operator)
  const clusters = pageClusters(overview.clusters, seen.clusters, now)
  const taking = seen.sessions.flatMap((session) => session.clusters.map(({ name }) => name))
  const lanes = [...new Set([...clusters.map(({ name }) => name), ...taking.toSorted()])].map((name) =>
    cleanText(name, textLimits.name)
  )
  const sessions = pageSessions(seen, { clusters, lanes }, now)
  return {
    context: cleanText(seen.context, textLimits.name),
    readAt: now,
    time: timeText(now),
    summary: summaryOf(overview),
    problem: undefined,
    notes: clean(fleetNotes(overview)),
    unseen: clean(seen.notes),
    clusters,
    lanes,
    sessions,
    events: [...seen.events.flatMap((event) => pageEvent(event) ?? []), ...localEvents(seen)].toSorted(
      (a, b) => b.at - a.at
    ),
    empty: {
      clusters: clusters.length === 0 ? emptyClusters(overview) : undefined,
      sessions: sessions.length === 0 ? emptySessions : undefined
    }
  }
}

/** The page for others than the person who looks: without this machine's processes and what they did. */
export const sharedFleetPage = (page: FleetPage): FleetPage => ({
  ...page,
  sessions: page.sessions.map(withoutLocal),
  events: page.events.filter(({ kind }) => kind !== "local")
})

/** The page while the fleet cannot be read: the last known state, and why. */
export const staleFleetPage = (last: FleetPage, problem: NonNullable<FleetPage["problem"]>): FleetPage => ({
  ...last,
  problem: {
    message: cleanText(problem.message, textLimits.message),
    fix: cleanText(problem.fix, textLimits.message)
  }
})

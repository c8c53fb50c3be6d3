/**
 * The changes on the page of `braid ui` between two looks, in words: a cluster that is no longer ready, a session that
 * began, lost a cluster or ended. A person without the right to read Events learns it so too.
 */

import { type FleetPage, type PageEvent, timeText } from "./fleet-page.ts"
import type { Look } from "./look.ts"
import type { PageCluster } from "./page-cluster.ts"
import type { PageCell, PageSession } from "./page-session.ts"

type Change = Pick<PageEvent, "about" | "look" | "text">

const because = (reason: string): string => (reason === "" ? "." : `: ${reason}`)

const ofCluster = (before: PageCluster | undefined, after: PageCluster): ReadonlyArray<Change> =>
  before === undefined || (before.state === after.state && before.reason === after.reason)
    ? []
    : [{ about: after.name, look: after.look, text: `The cluster is ${after.state}${because(after.reason)}` }]

const ofCell = (session: string, before: PageCell | undefined, after: PageCell): ReadonlyArray<Change> =>
  before === undefined || after.look === undefined || (before.word === after.word && before.reason === after.reason)
    ? []
    : [{ about: session, look: after.look, text: `${after.cluster} is ${after.word}${because(after.reason)}` }]

const began = ({ cells, id, look, target, user }: PageSession): Change => {
  const clusters = cells.filter((cell) => cell.look !== undefined).map(({ cluster }) => cluster)
  return {
    about: id,
    look,
    text: `The session of ${user} at ${target} began${clusters.length === 0 ? "" : ` in ${clusters.join(", ")}`}.`
  }
}

const ofSession = (before: PageSession | undefined, after: PageSession): ReadonlyArray<Change> => {
  if (before === undefined) return [began(after)]
  const phase =
    before.phase === after.phase
      ? []
      : [{ about: after.id, look: after.look, text: `The session is ${after.phase}${because(after.reason)}` }]
  const parts =
    after.look === "ending"
      ? []
      : after.cells.flatMap((cell) =>
          ofCell(
            after.id,
            before.cells.find(({ cluster }) => cluster === cell.cluster),
            cell
          )
        )
  return [...phase, ...parts]
}

const byName = <T extends { readonly name: string }>(items: ReadonlyArray<T>): ReadonlyMap<string, T> =>
  new Map(items.map((item) => [item.name, item]))

const ending: Look = "ending"

const changesBetween = (before: FleetPage, after: FleetPage): ReadonlyArray<Change> => {
  const clusters = byName(before.clusters)
  const sessions = byName(before.sessions)
  const still = byName(after.sessions)
  return [
    ...after.clusters.flatMap((cluster) => ofCluster(clusters.get(cluster.name), cluster)),
    ...after.sessions.flatMap((session) => ofSession(sessions.get(session.name), session)),
    ...before.sessions
      .filter(({ name }) => !still.has(name))
      .map(({ id, user }) => ({ about: id, look: ending, text: `The session of ${user} has ended.` }))
  ]
}

/** Most changes that are remembered. */
const maxChanges = 500

/**
 * The changes so far, newest first, with those between two looks. `now`: epoch ms of the later one. Looks at the same
 * state add none.
 */
export const rememberedChanges = (
  earlier: ReadonlyArray<PageEvent>,
  before: FleetPage,
  after: FleetPage,
  now: number
): ReadonlyArray<PageEvent> => {
  const found = changesBetween(before, after).map((change): PageEvent => ({
    ...change,
    at: now,
    time: timeText(now),
    kind: "change"
  }))
  return found.length === 0 ? earlier : [...found, ...earlier].slice(0, maxChanges)
}

/** The page with what was seen happening, among the Events by time. */
export const withChanges = (page: FleetPage, changes: ReadonlyArray<PageEvent>): FleetPage => ({
  ...page,
  events: [...changes, ...page.events].toSorted((a, b) => b.at - a.at)
})

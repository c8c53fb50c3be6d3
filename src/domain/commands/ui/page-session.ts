/**
 * A session on the page of `braid ui`: its lane over the clusters, and what it holds: ports, branches, queues.
 *
 * Not here: the other parts of the page (fleet-page.ts).
 */

import { cleanText, textLimits } from "../../clean-text.ts"
import { spanText } from "../../fleet/credentials/validity.ts"
import type { SessionInfo } from "../../resources/session.ts"
import type { BranchRow } from "../overview/branch-row.ts"
import type { QueueRow } from "../overview/queue-row.ts"
import type { SessionCluster, SessionRow } from "../overview/session-row.ts"
import { localLines } from "./local-session.ts"
import type { Look } from "./look.ts"
import type { PageCluster } from "./page-cluster.ts"
import type { SeenFleet } from "./seen-fleet.ts"

/** A session's part in one cluster. */
export interface PageCell {
  readonly cluster: string
  /** Undefined where the session takes no part by its own wish. */
  readonly look: Look | undefined
  /** `ready`, `starting`, `left out`, `ending`, `not told` or `no part`. */
  readonly word: string
  /** Why, a sentence; empty if it is ready. */
  readonly reason: string
  /** The cure, a sentence; empty if there is nothing to do. */
  readonly fix: string
}

export interface PageSession {
  /** Name of its object. */
  readonly name: string
  /** As clients list it: upper-case hex. */
  readonly id: string
  readonly phase: string
  readonly look: Look
  readonly namespace: string
  readonly target: string
  readonly user: string
  /** Empty if it is not known. */
  readonly key: string
  readonly age: string
  /** Why it is not ready, or why it ended; empty otherwise. */
  readonly reason: string
  /** In the order of the page's lanes. */
  readonly cells: ReadonlyArray<PageCell>
  /** Each port that it steals, by which filter, and the other sessions that steal the same port of the target. */
  readonly ports: ReadonlyArray<string>
  readonly branches: ReadonlyArray<string>
  readonly queues: ReadonlyArray<string>
  /** Its processes, ports and version of mirrord, where it is a session of this machine; empty otherwise. */
  readonly local: ReadonlyArray<string>
  /** Whether the operator of this cluster can stop it; a part of a session over many clusters ends with that. */
  readonly canStop: boolean
  /** All of it, as lines to copy. */
  readonly text: string
}

/** The id in a name of a session's object, or an id in any form, as clients list it: hex without zeros in front. */
export const idOf = (name: string): string => {
  const hex = /^(?:mc-)?0*([0-9a-f]{1,16})(?:-.*)?$/iu.exec(name)?.[1]
  return hex === undefined ? name : hex.toUpperCase()
}

const lookOf = ({ clusters, phase }: SessionRow): Look => {
  switch (phase) {
    case "Ready":
      return clusters.some(({ ready }) => ready === false) ? "degraded" : "ready"
    case "Failed":
      return "failed"
    case "Terminating":
    case "Closed":
      return "ending"
    case "Unknown":
      return "running"
    default:
      return "waiting"
  }
}

const stateOf = (cluster: SessionCluster, session: Look): readonly [Look, string] => {
  if (session === "ending") return ["ending", "ending"]
  if (cluster.ready === true) return ["ready", "ready"]
  if (cluster.reason !== undefined) return ["failed", "left out"]
  return cluster.ready === undefined ? ["running", "not told"] : ["waiting", "starting"]
}

const cellOf = (row: SessionRow, look: Look, lane: string, clusters: ReadonlyMap<string, PageCluster>): PageCell => {
  const part = row.clusters.find(({ name }) => cleanText(name, textLimits.name) === lane)
  if (part === undefined) return { cluster: lane, look: undefined, word: "no part", reason: "", fix: "" }
  const [partLook, word] = stateOf(part, look)
  const isWell = partLook === "ready"
  return {
    cluster: lane,
    look: partLook,
    word,
    reason: isWell ? "" : cleanText(part.reason ?? "", textLimits.message),
    fix: isWell ? "" : (clusters.get(lane)?.fix ?? "")
  }
}

/** A port that a session steals. */
interface Steal {
  readonly session: string
  readonly user: string
  /** Namespace and workload, without the container. */
  readonly target: string
  readonly port: number
  readonly filter: string | undefined
}

const workloadOf = (namespace: string | null | undefined, target: string): string =>
  `${namespace ?? ""}/${target.split(/[/ ]/u).slice(0, 2).join("/")}`

const stealsOf = (infos: ReadonlyArray<SessionInfo>): ReadonlyArray<Steal> =>
  infos.flatMap((info) =>
    (info.locked_ports ?? []).map(({ filter, port }) => ({
      session: idOf(info.id ?? ""),
      user: info.user,
      target: workloadOf(info.namespace, info.target),
      port,
      filter: filter ?? undefined
    }))
  )

const portText = ({ filter, port }: Steal): string => (filter === undefined ? String(port) : `${port} by ${filter}`)

/** Steals by their sessions, and by their ports of a target. */
interface Steals {
  readonly bySession: ReadonlyMap<string, ReadonlyArray<Steal>>
  readonly byPort: ReadonlyMap<string, ReadonlyArray<Steal>>
}

const portKey = ({ port, target }: Steal): string => `${target}:${port}`

const indexed = (steals: ReadonlyArray<Steal>): Steals => ({
  bySession: Map.groupBy(steals, ({ session }) => session),
  byPort: Map.groupBy(steals, portKey)
})

const portsOf = (id: string, { byPort, bySession }: Steals): ReadonlyArray<string> =>
  (bySession.get(id) ?? []).map((own) => {
    const others = (byPort.get(portKey(own)) ?? []).filter(({ session }) => session !== id)
    const beside = others.map((other) => `${other.user}${other.filter === undefined ? "" : ` by ${other.filter}`}`)
    return beside.length === 0 ? portText(own) : `${portText(own)}, beside ${beside.join(" and ")}`
  })

const branchesOf = (id: string, branches: ReadonlyArray<BranchRow>): ReadonlyArray<string> =>
  branches
    .filter(({ sessions }) => sessions.some((session) => idOf(session) === id))
    .map(({ cluster, engine, id: branch, phase, reason }) =>
      [`${branch} (${engine} in ${cluster}): ${phase}`, ...(reason === undefined ? [] : [reason])].join(", ")
    )

const queuesOf = (id: string, queues: ReadonlyArray<QueueRow>): ReadonlyArray<string> =>
  queues.flatMap(({ cluster, queue, sessions, workload }) =>
    sessions
      .filter(({ session }) => idOf(session) === id)
      .map(({ message, phase }) => {
        const where = cluster === undefined ? workload : `${workload} in ${cluster}`
        const what = queue === "" ? "queues" : queue
        return `${what} of ${where}: ${phase}${message === undefined ? "" : `, ${message}`}`
      })
  )

const lines = (session: Omit<PageSession, "text">): ReadonlyArray<string> => [
  `Session ${session.id} (${session.name}): ${session.phase}${session.reason === "" ? "" : `: ${session.reason}`}`,
  `  ${session.user} at ${session.target} in ${session.namespace}, ${session.age}`,
  ...(session.key === "" ? [] : [`  key ${session.key}`]),
  ...session.cells
    .filter(({ look }) => look !== undefined)
    .map(({ cluster, reason, word }) => `  ${cluster}: ${word}${reason === "" ? "" : `: ${reason}`}`),
  ...session.ports.map((port) => `  steals port ${port}`),
  ...session.branches.map((branch) => `  branch ${branch}`),
  ...session.queues.map((queue) => `  splits ${queue}`),
  ...session.local.map((line) => `  on this machine: ${line}`)
]

const cleaned = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts.map((one) => cleanText(one, textLimits.message))

/** A session without what it does on the machine of the person who looks. */
export const withoutLocal = ({ text: _text, ...session }: PageSession): PageSession => {
  const shared = { ...session, local: [] }
  return { ...shared, text: lines(shared).join("\n") }
}

/** The sessions, oldest first. `now`: epoch ms. */
export const pageSessions = (
  { branches, local, operator, queues, sessions }: SeenFleet,
  fleet: { readonly clusters: ReadonlyArray<PageCluster>; readonly lanes: ReadonlyArray<string> },
  now: number
): ReadonlyArray<PageSession> => {
  const infos = operator.status?.sessions ?? []
  const byId = new Map(infos.map((info) => [idOf(info.id ?? ""), info]))
  const steals = indexed(stealsOf(infos))
  const clusters = new Map(fleet.clusters.map((cluster) => [cluster.name, cluster]))
  return sessions.map((row) => {
    const id = idOf(row.name)
    const look = lookOf(row)
    const session = {
      name: cleanText(row.name, textLimits.name),
      id: cleanText(id, textLimits.name),
      phase: cleanText(row.phase, textLimits.name),
      look,
      namespace: cleanText(row.namespace, textLimits.name),
      target: cleanText(row.target, textLimits.targetName),
      user: cleanText(row.user, textLimits.message),
      key: cleanText(byId.get(id)?.key ?? "", textLimits.name),
      age: row.createdAt === undefined ? "" : spanText(now - row.createdAt),
      reason: cleanText(row.reason ?? "", textLimits.message),
      cells: fleet.lanes.map((lane) => cellOf(row, look, lane, clusters)),
      ports: cleaned(portsOf(id, steals)),
      branches: cleaned(branchesOf(id, branches)),
      queues: cleaned(queuesOf(id, queues)),
      local: cleaned(
        local
          .filter(({ session_id: its }) => idOf(its) === id)
          .flatMap((one) => localLines(one, row.clusters.length > 1))
      ),
      canStop: row.parent === undefined
    }
    return { ...session, text: lines(session).join("\n") }
  })
}

/**
 * Turns a story's events into the contents of the report page, as data (`report-model.ts`). Drawing is in
 * `page-script.ts`.
 */

import { Result } from "effect"
import type { Look } from "../../../src/domain/commands/ui/look.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { describeEvent } from "../story/describe-event.ts"
import { parseStory } from "../story/parse-story.ts"
import type { Story, StoryResult } from "../story/story.ts"
import { duration } from "../story/words.ts"
import { worldStart } from "../world/credentials.ts"
import type { TimedEvent } from "../world/world-event.ts"
import { FaultBands } from "./fault-bands.ts"
import type {
  ReportBar,
  ReportCount,
  ReportEvent,
  ReportMark,
  ReportModel,
  ReportRequest,
  ReportRow
} from "./report-model.ts"
import { childLook, clientOf, parentLook } from "./session-look.ts"

const secondsOf = (at: number): number => (at - worldStart) / 1000

/** The end of the last act: its step, and the time that the step lets pass. */
const actsEndOf = (events: ReadonlyArray<TimedEvent>): number => {
  const last = events.findLast(({ _tag }) => _tag === "Step")
  if (last?._tag !== "Step") return 0
  const [verb, time] = last.text.split(/\s+/)
  return secondsOf(last.at) + (verb === "tick" ? Result.getOrElse(duration(time), () => 0) / 1000 : 0)
}

/** Bars of one kind, by their key; a new look ends the old bar. */
class Bars {
  readonly done: Array<ReportBar> = []
  readonly #open = new Map<string, Omit<ReportBar, "to">>()

  set(key: string, { from, look, row, text }: Omit<ReportBar, "to">): void {
    const open = this.#open.get(key)
    if (open?.look === look && open.text === text) return
    this.end(key, from)
    this.#open.set(key, { row, from, look, text })
  }

  end(key: string, to: number): void {
    const open = this.#open.get(key)
    this.#open.delete(key)
    if (open !== undefined && to > open.from) this.done.push({ ...open, to })
  }

  finish(to: number): ReadonlyArray<ReportBar> {
    for (const key of [...this.#open.keys()]) this.end(key, to)
    return this.done
  }
}

/** By collection: how an object of a session looks. */
const looks: Readonly<Record<string, typeof parentLook>> = {
  [mirrordMultiClusterSessions.plural]: parentLook,
  [mirrordClusterSessions.plural]: childLook
}

const textOf = (event: TimedEvent): string | undefined => {
  if (event._tag === "Step") return event.text
  return event._tag === "RequestEntered" ? `request ${event.id} enters ${event.cluster}` : describeEvent(event)
}

/** Builds the page's contents from the events of a story, one after the other. */
class ReportBuilder {
  readonly #bars = new Bars()
  readonly #bands: FaultBands
  readonly #marks: Array<ReportMark> = []
  readonly #requests = new Map<number, ReportRequest>()
  readonly #messages = new Map<string, { readonly lane: string; readonly second: number; count: number }>()
  readonly #events: Array<ReportEvent> = []
  readonly #rows: ReadonlyArray<ReportRow>
  readonly #lanes: ReadonlySet<string>
  readonly #primary: string

  constructor(rows: ReadonlyArray<ReportRow>, primary: string) {
    this.#rows = rows
    this.#lanes = new Set(rows.map(({ lane }) => lane))
    this.#bands = new FaultBands({ primary, all: this.#lanes })
    this.#primary = primary
  }

  add(event: TimedEvent): void {
    const at = secondsOf(event.at)
    this.#draw(event, at)
    const text = textOf(event)
    if (text !== undefined) this.#events.push({ at, lane: this.#laneOf(event), kind: kindOf(event), text })
  }

  finish(
    actsEnd: number,
    end: number,
    broken: string | undefined
  ): Pick<ReportModel, "bars" | "bands" | "marks" | "requests" | "messages" | "events"> {
    if (broken !== undefined) this.#events.push({ at: end, lane: "", kind: "broken", text: broken })
    const messages: ReadonlyArray<ReportCount> = [...this.#messages.values()]
    return {
      bars: this.#bars.finish(end),
      bands: this.#bands.finish(Math.min(actsEnd, end)),
      marks: this.#marks,
      requests: [...this.#requests.values()],
      messages,
      events: this.#events
    }
  }

  #draw(event: TimedEvent, at: number): void {
    switch (event._tag) {
      case "Step":
        return this.#bands.step(at, event.text)
      case "Fault": {
        if (this.#bands.fault(at, event.kind, event.text)) return
        for (const lane of this.#bands.lanes()) this.#mark(this.#firstRow(lane), at, "fault", event.text)
        return
      }
      case "Operator":
        return this.#operator(event, at)
      case "Committed":
        return this.#committed(event, at)
      case "AgentStarted": {
        const text = `${event.agent}${event.pod === "" ? "" : ` for ${event.pod}`}`
        return this.#bars.set(event.agent, { row: `${event.cluster} agents`, from: at, look: "running", text })
      }
      case "AgentEnded":
        return this.#bars.end(event.agent, at)
      case "AgentHeard":
      case "AgentSaid":
        return this.#count(event.cluster, at)
      case "RequestEntered":
        return this.#entered(event, at)
      case "RequestAnswered":
        return this.#answered(event, at)
      default:
        return this.#client(event, at)
    }
  }

  #client(event: TimedEvent, at: number): void {
    switch (event._tag) {
      case "ClientSaid":
      case "ClientHeard":
        return this.#count(event.client, at)
      case "ClientConnected":
        return this.#ofClient(event.client, at, "ready", "connected")
      case "ClientLost":
        return this.#ofClient(event.client, at, "waiting", `connects again: ${event.reason}`)
      case "ClientRefused":
        return this.#ofClient(event.client, at, "waiting", `refused: ${event.code ?? ""} ${event.message}`)
      case "ClientEnded": {
        const { client, message, rule } = event
        this.#bars.end(`client ${client}`, at)
        return this.#mark(client, at, "end", rule === undefined ? message : `${rule}: ${message}`)
      }
      default:
        return
    }
  }

  #ofClient(row: string, from: number, look: Look, text: string): void {
    this.#bars.set(`client ${row}`, { row, from, look, text })
  }

  #entered({ cluster, id, path }: Extract<TimedEvent, { readonly _tag: "RequestEntered" }>, at: number): void {
    this.#requests.set(id, {
      id,
      row: `${cluster} requests`,
      at,
      by: "pending",
      answeredAt: undefined,
      client: undefined,
      text: `request ${id} (${path}) enters ${cluster} and is not answered`
    })
  }

  #operator({ change, cluster, detail }: Extract<TimedEvent, { readonly _tag: "Operator" }>, at: number): void {
    const row = `${cluster} operator`
    if (change === "started" || change === "resumed")
      this.#bars.set(row, { row, from: at, look: "running", text: `operator of ${cluster} runs` })
    else if (change === "paused")
      this.#bars.set(row, { row, from: at, look: "paused", text: `operator of ${cluster} is paused` })
    else this.#bars.end(row, at)
    const text = `operator of ${cluster} ${change}${detail === undefined ? "" : `: ${detail}`}`
    if (change === "crashed" || change === "ended") this.#mark(row, at, "end", text)
    else if (change === "started" && at > 0) this.#mark(row, at, "start", text)
  }

  #committed({ cluster, commit }: Extract<TimedEvent, { readonly _tag: "Committed" }>, at: number): void {
    const { after, before, ref } = commit
    const appearanceOf = looks[ref.plural]
    const object = after ?? before
    if (appearanceOf === undefined || object === undefined) return
    const key = `${cluster} ${ref.plural} ${object.metadata.name}`
    if (after === undefined) return this.#bars.end(key, at)
    const { look, text } = appearanceOf(after)
    const what = appearanceOf === parentLook ? "parent" : "child"
    const name = `${what} of ${clientOf(after)}`
    this.#bars.set(key, { row: `${cluster} ${name}`, from: at, look, text: `${name}: ${text}` })
  }

  #answered(
    { body, by, cluster, id, status }: Extract<TimedEvent, { readonly _tag: "RequestAnswered" }>,
    at: number
  ): void {
    const request = this.#requests.get(id)
    const client = by === "client" ? /^from (\S+):/.exec(body)?.[1] : undefined
    this.#requests.set(id, {
      id,
      row: `${cluster} requests`,
      at: request?.at ?? at,
      by,
      answeredAt: at,
      client: client !== undefined && this.#lanes.has(client) ? client : undefined,
      text:
        `request ${id} at ${cluster}: answered by ${client ?? by}${status === 0 ? "" : ` with ${status}`} ` +
        `after ${(at - (request?.at ?? at)).toFixed(3)} s`
    })
  }

  #mark(row: string, at: number, look: ReportMark["look"], text: string): void {
    this.#marks.push({ row, at, look, text })
  }

  #count(lane: string, at: number): void {
    const second = Math.floor(at)
    const key = `${lane} ${second}`
    const entry = this.#messages.get(key)
    if (entry === undefined) this.#messages.set(key, { lane, second, count: 1 })
    else entry.count++
  }

  #firstRow(lane: string): string {
    return this.#rows.find((row) => row.lane === lane)?.id ?? lane
  }

  #laneOf(event: TimedEvent): string {
    if (event._tag === "Fault") return this.#bands.lanes().join(" ")
    if ("cluster" in event) return event.cluster
    if ("client" in event) return event.client
    return event._tag === "Step" ? "" : this.#primary
  }
}

const kindOf = ({ _tag }: TimedEvent): ReportEvent["kind"] => {
  switch (_tag) {
    case "Step":
      return "step"
    case "Fault":
      return "fault"
    case "Operator":
    case "Log":
      return "operator"
    case "Committed":
      return "session"
    case "RequestEntered":
    case "RequestAnswered":
      return "request"
    case "AgentStarted":
    case "AgentEnded":
      return "agent"
    default:
      return "client"
  }
}

/** The rows of the time line: clients on top, then the primary, then the members in the story's order. */
const rowsOf = (
  primary: string,
  clusters: ReadonlyArray<string>,
  events: ReadonlyArray<TimedEvent>
): ReadonlyArray<ReportRow> => {
  const clients = new Set(events.flatMap((event) => ("client" in event ? [event.client] : [])))
  const sessions = new Map<string, Set<string>>()
  for (const event of events) {
    if (event._tag !== "Committed" || event.commit.after === undefined) continue
    const { after, ref } = event.commit
    const isParent = ref.plural === mirrordMultiClusterSessions.plural
    if (!isParent && ref.plural !== mirrordClusterSessions.plural) continue
    const rows = sessions.get(event.cluster) ?? new Set()
    rows.add(`${event.cluster} ${isParent ? "parent" : "child"} of ${clientOf(after)}`)
    sessions.set(event.cluster, rows)
  }
  const lanes = [primary, ...clusters.filter((name) => name !== primary)]
  return [
    ...[...clients].toSorted().map((client) => ({ id: client, lane: client })),
    ...lanes.flatMap((lane) => [
      { id: `${lane} operator`, lane },
      ...[...(sessions.get(lane) ?? [])].toSorted().map((id) => ({ id, lane })),
      ...(clusters.includes(lane)
        ? [
            { id: `${lane} agents`, lane },
            { id: `${lane} requests`, lane }
          ]
        : [])
    ])
  ]
}

/** The contents of the page for a story that was run with its events collected. Throws if the story cannot be read. */
export const makeReport = (title: string, story: Story, result: StoryResult): ReportModel => {
  const parsed = Result.getOrThrowWith(
    parseStory(story.seed, story.lines),
    (mistakes) => new Error(mistakes.map(({ message }) => message).join("; "))
  )
  const { clusters, primary } = parsed.plan
  const rows = rowsOf(
    primary,
    clusters.map(({ name }) => name),
    result.events
  )
  const builder = new ReportBuilder(rows, primary)
  for (const event of result.events) builder.add(event)
  const [violation] = result.violations
  const end = result.virtualMs / 1000
  const isBrokenInActs = violation !== undefined && violation.line <= story.lines.length
  const actsEnd = isBrokenInActs ? end : Math.min(actsEndOf(result.events), end)
  const broken = violation === undefined ? undefined : `${violation.id}: ${violation.sentence} ${violation.detail}`
  return {
    title,
    seed: story.seed,
    passed: violation === undefined,
    verdict: violation === undefined ? "passed" : `failed after ${(violation.at / 1000).toFixed(3)} s: ${broken}`,
    story: story.lines,
    actsEnd,
    end,
    rows,
    ...builder.finish(actsEnd, end, broken)
  }
}

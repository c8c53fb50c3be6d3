/**
 * The sessions of an operator as mirrord's page and browser extension read them from an aggregator (mirrord 3.250.0):
 * made of the operator's own object, entry by entry, so that an unreadable entry hides no other.
 *
 * Not here: asking the operator (app/commands/ui/operator-reader.ts).
 */

import { asArray, asNumber, asObject, asObjects, asString, at, type JsonObject } from "../../json.ts"
import { timestamp } from "../../resources/object-meta.ts"
import { targetKinds } from "../../targets/target.ts"
import { idOf } from "./page-session.ts"

/** A workload; its container is always empty, as readers have it. */
export interface SummaryTarget {
  readonly kind: string
  readonly name: string
  readonly container: ""
}

/** A session; camelCase, as readers have it. */
export interface OperatorSummary {
  readonly id: string
  readonly key: string
  readonly namespace: string
  readonly owner: { readonly username: string; readonly k8sUsername: string }
  readonly target: SummaryTarget | null
  /** RFC 3339, to the second. */
  readonly createdAt: string
  readonly durationSecs: number
  readonly lockedPorts?: ReadonlyArray<{ readonly port: number; readonly kind: string; readonly filter?: string }>
  readonly queueSplits: { readonly sqs: number; readonly rabbitmq: number; readonly kafka: number }
  readonly httpFilter?: { readonly headerFilter?: string }
  /** Our own; readers pass over it: each cluster of a session over many, and why it is left out. */
  readonly clusters?: Readonly<Record<string, { readonly ready: boolean; readonly error?: string }>>
}

export interface PreviewSummary extends Pick<OperatorSummary, "id" | "key" | "namespace" | "target"> {
  readonly createdAt: string
  readonly durationSecs: number
  readonly phase: string
  readonly idleSecs?: number
}

export interface OperatorAnswer {
  readonly sessions: ReadonlyArray<OperatorSummary>
  readonly previewSessions: ReadonlyArray<PreviewSummary>
  readonly license: { readonly fingerprint: string | null; readonly organization: string }
}

/** Kinds of targets by the words that a session may have for them. */
const kinds: ReadonlyMap<string, string> = new Map([
  ["deploy", "deployment"],
  ...[...targetKinds, "label"].map((kind) => [kind, kind] as const)
])

/** A target in its form with slashes; null for `targetless` and all else. */
const targetOf = (text: string): SummaryTarget | null => {
  const [word = "", name] = text.split("/")
  const kind = kinds.get(word)
  return kind === undefined || name === undefined || name === "" ? null : { kind, name, container: "" }
}

/** The owner in `local/kubernetes@host`: names may have an `@`, and those of Kubernetes a `/`. */
const ownerOf = (user: string): OperatorSummary["owner"] => {
  const [slash, host] = [user.indexOf("/"), user.lastIndexOf("@")]
  return slash < 0 || host < slash
    ? { username: user, k8sUsername: user }
    : { username: user.slice(0, slash), k8sUsername: user.slice(slash + 1, host) }
}

const createdAt = (now: number, seconds: number): string => `${timestamp(now - seconds * 1_000).slice(0, 19)}Z`

const textField = <Name extends string>(name: Name, value: unknown): { readonly [K in Name]?: string } => {
  const text = asString(value)
  return text === undefined ? {} : ({ [name]: text } as { readonly [K in Name]?: string })
}

const portsOf = (session: JsonObject): Pick<OperatorSummary, "lockedPorts"> => {
  const lockedPorts = asObjects(session["locked_ports"]).flatMap(({ filter, kind, port }) => {
    const number = asNumber(port)
    return number === undefined ? [] : [{ port: number, kind: asString(kind) ?? "", ...textField("filter", filter) }]
  })
  return lockedPorts.length === 0 ? {} : { lockedPorts }
}

/** The clusters of each session over many, by the session's id. */
const clustersOf = (status: JsonObject): ReadonlyMap<string, NonNullable<OperatorSummary["clusters"]>> =>
  new Map(
    asObjects(status["multi_cluster_sessions"]).map(({ clusterSessions, id }) => [
      idOf(asString(id) ?? ""),
      Object.fromEntries(
        Object.entries(asObject(clusterSessions)).map(([name, cluster]) => [
          name,
          { ready: at(cluster, "ready") === true, ...textField("error", at(cluster, "error")) }
        ])
      )
    ])
  )

/** One session; `undefined` without id or key, as readers have it. */
const summaryOf = (session: JsonObject, now: number): OperatorSummary | undefined => {
  const [id, key, duration] = [asString(session["id"]), asString(session["key"]), asNumber(session["duration_secs"])]
  if (id === undefined || key === undefined || duration === undefined) return undefined
  const count = (field: string): number => asArray(session[field]).length
  const filter = session["http_filter"]
  return {
    id,
    key,
    namespace: asString(session["namespace"]) ?? "",
    owner: ownerOf(asString(session["user"]) ?? ""),
    target: targetOf(asString(session["target"]) ?? ""),
    createdAt: createdAt(now, duration),
    durationSecs: duration,
    ...portsOf(session),
    queueSplits: { sqs: count("sqs"), rabbitmq: count("rmq"), kafka: count("kafka") },
    ...(filter !== undefined &&
      filter !== null && { httpFilter: textField("headerFilter", at(filter, "headerFilter")) })
  }
}

const previewOf = (preview: JsonObject, now: number): PreviewSummary | undefined => {
  const [id, key, duration] = [asString(preview["id"]), asString(preview["key"]), asNumber(preview["duration_secs"])]
  if (id === undefined || key === undefined || duration === undefined) return undefined
  const idle = asNumber(preview["idle_secs"])
  return {
    id,
    key,
    namespace: asString(preview["namespace"]) ?? "",
    target: targetOf(asString(preview["target"]) ?? ""),
    createdAt: createdAt(now, duration),
    durationSecs: duration,
    phase: (asString(preview["phase"]) ?? "unknown").toLowerCase(),
    ...(idle !== undefined && { idleSecs: idle })
  }
}

/** The answer of an operator's object. `now`: epoch ms. */
export const operatorAnswer = (operator: JsonObject, now: number): OperatorAnswer => {
  const status = asObject(operator["status"])
  const clusters = clustersOf(status)
  return {
    sessions: asObjects(status["sessions"]).flatMap((session) => {
      const summary = summaryOf(session, now)
      const own = summary && clusters.get(idOf(summary.id))
      return summary === undefined ? [] : [own === undefined ? summary : { ...summary, clusters: own }]
    }),
    previewSessions: asObjects(status["preview_sessions"]).flatMap((preview) => previewOf(preview, now) ?? []),
    license: {
      fingerprint: asString(at(operator, "spec", "license", "fingerprint")) ?? null,
      organization: asString(at(operator, "spec", "license", "organization")) ?? ""
    }
  }
}

/** News of an operator's sessions. */
export type OperatorNotice =
  | { readonly type: "operator_session_added" | "operator_session_updated"; readonly session: OperatorSummary }
  | { readonly type: "operator_session_removed"; readonly id: string }

/** News between two looks: each session that is there is told, changed or not, as readers want it. */
export const operatorNotices = (
  before: ReadonlyArray<OperatorSummary>,
  after: ReadonlyArray<OperatorSummary>
): ReadonlyArray<OperatorNotice> => {
  const known = new Set(before.map(({ id }) => id))
  const there = new Set(after.map(({ id }) => id))
  return [
    ...after.map((session): OperatorNotice => ({
      type: known.has(session.id) ? "operator_session_updated" : "operator_session_added",
      session
    })),
    ...before
      .filter(({ id }) => !there.has(id))
      .map(({ id }): OperatorNotice => ({ type: "operator_session_removed", id }))
  ]
}

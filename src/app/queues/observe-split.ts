/**
 * Puts together everything from which the next steps of a split are decided: what the cluster's objects say, and what
 * this process remembers.
 *
 * Not here: looking (split-controller.ts), and deciding (domain/queues/split-plan.ts).
 */

import { Result } from "effect"
import { quoted } from "../../domain/clean-text.ts"
import { asNumber, at } from "../../domain/json.ts"
import { givenQueue } from "../../domain/queues/given-queue.ts"
import type { MessageFilter } from "../../domain/queues/message-filter.ts"
import type {
  ObservedConfiguration,
  ObservedSplit,
  ObservedWorkload,
  QueueState,
  WantedSession
} from "../../domain/queues/observed-split.ts"
import type { PodWebhook } from "../../domain/queues/pod-webhook.ts"
import { isFifoName } from "../../domain/queues/queue-name.ts"
import { sessionFilters } from "../../domain/queues/session-filters.ts"
import { workloadPod } from "../../domain/queues/split-pods.ts"
import type { StoredQueue } from "../../domain/queues/stored-queue.ts"
import type { StoredSession } from "../../domain/queues/stored-session.ts"
import type { StoredSplit } from "../../domain/queues/stored-split.ts"
import { temporaryQueueName } from "../../domain/queues/temporary-queue-name.ts"
import type { KubeError, KubeObject } from "../../ports/kube-api.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import type { KnownSplit } from "./known-split.ts"
import type { ResolvedSplit } from "./resolve-split.ts"
import { restartToken } from "./restart-workload.ts"

/** One look at a split. */
export interface SeenSplit {
  readonly known: KnownSplit
  readonly stored: StoredSplit | undefined
  readonly sessions: ReadonlyArray<StoredSession>
  /** The container by which the configuration is chosen; `undefined` if no session says it. */
  readonly container: string | undefined
  readonly queues: ReadonlyArray<StoredQueue>
  /** `undefined` if it is deleted. */
  readonly workload: KubeObject | undefined
  readonly pods: ReadonlyArray<KubeObject>
  readonly webhook: {
    readonly name: string
    /** As it has to be, or why it cannot be made; `undefined` if there has to be none. */
    readonly wanted: Result.Result<PodWebhook, KubeError> | undefined
    readonly state: ObservedSplit["webhook"]
  }
  /** Why the workload's queues cannot be split beside those of another; `undefined` if they can. */
  readonly clash: string | undefined
  /** Until when a process that led before this one may still send messages, epoch ms. */
  readonly fencedUntil: number
}

/** Characters that tell temporary queues of one original apart. */
const randomLength = 10

export const resolvedOf = ({ resolution }: KnownSplit): ResolvedSplit | undefined =>
  resolution === undefined ? undefined : Result.getOrUndefined(resolution.result)

const configurationOf = ({ clash, known: { resolution } }: SeenSplit): ObservedConfiguration => {
  if (resolution === undefined) return { _tag: "Unknown" }
  if (Result.isFailure(resolution.result)) {
    const { code, why } = resolution.result.failure
    return { _tag: "Refused", code, why }
  }
  if (clash !== undefined) return { _tag: "Refused", code: 409, why: clash }
  const { digest, sources, times } = resolution.result.success
  const plain = sources.map(({ identity, ids, name, reference, url }) => ({ identity, reference, name, url, ids }))
  return { _tag: "Known", digest, sources: plain, times }
}

/** The filters of a session by the ids that it gets messages of. The failure is a sentence. */
export const filtersOf = (
  { configuration, variables }: ResolvedSplit,
  { container, filters }: Pick<StoredSession, "container" | "filters">
): Result.Result<ReadonlyMap<string, MessageFilter>, string> =>
  sessionFilters(configuration, { container, variables }, filters)

/** Each cluster would have a main queue of its own, in which the messages of a group lose their order. */
const orderProblem = ({ sources }: ResolvedSplit, { wanted: { queues } }: StoredSession): WantedSession["problem"] => {
  const given = queues._tag === "Given" ? queues.given : []
  const shared = sources.find(({ name, url }) => isFifoName(name) && given.some(({ original }) => original === url))
  return (
    shared && {
      code: 400,
      message:
        `The FIFO queue ${quoted(shared.name)} is read by several clusters, and its order would be lost between ` +
        "their main queues: split it in a session of one cluster."
    }
  )
}

/**
 * Whether the program reads a queue of this id. By `*` a session means all queues that there are, and this cluster may
 * have one that the default cluster has not.
 */
const isRead = (resolved: ResolvedSplit | undefined, { filters, wanted: { queues } }: StoredSession, id: string) =>
  queues._tag === "Own" ||
  filters.has(id) ||
  resolved?.sources.some((source) => source.ids.includes(id) && Result.isSuccess(givenQueue(source, queues.given))) ===
    true

const wantedSession = ({ known }: SeenSplit, session: StoredSession): WantedSession => {
  const resolved = resolvedOf(known)
  const { modes, wanted } = session
  const found = resolved === undefined ? undefined : filtersOf(resolved, session)
  const named = found !== undefined && Result.isSuccess(found) ? [...found.success.keys()] : []
  const ids = named.filter((id) => isRead(resolved, session, id))
  const problem =
    found !== undefined && Result.isFailure(found)
      ? { code: 400, message: found.failure }
      : (known.problems.get(wanted.uid) ?? (resolved && orderProblem(resolved, session)))
  return {
    ...wanted,
    modes: new Map(ids.map((id) => [id, modes.get(id) ?? modes.get("*") ?? "steal"])),
    problem
  }
}

const workloadOf = (workload: KubeObject | undefined): ObservedWorkload | undefined =>
  workload === undefined
    ? undefined
    : { replicas: asNumber(at(workload, "spec", "replicas")) ?? 1, restartToken: restartToken(workload) }

/** A queue at SQS as far as this process has seen it. */
const stateOf = ({ queues }: KnownSplit, name: string): QueueState => queues.get(name) ?? { _tag: "Unknown" }

const givenStates = ({ known, sessions }: SeenSplit): ReadonlyMap<string, QueueState> =>
  new Map(
    sessions.flatMap(({ wanted: { queues } }) =>
      queues._tag === "Own" ? [] : queues.given.map(({ queue }) => [queue, stateOf(known, queue)] as const)
    )
  )

/** Until when other clusters may send to queues of sessions that are over. `now`: epoch ms. */
const heldUntil = ({ known: { goneSince }, queues, sessions }: SeenSplit, now: number): ReadonlyMap<string, number> => {
  const going = new Set(sessions.flatMap(({ wanted }) => (wanted.isEnding ? [] : [wanted.uid])))
  const over = new Map(
    queues.flatMap(({ owner, sharedMillis }) =>
      owner._tag === "Session" && sharedMillis !== undefined && !going.has(owner.session)
        ? [[owner.session, sharedMillis] as const]
        : []
    )
  )
  for (const uid of goneSince.keys()) if (!over.has(uid)) goneSince.delete(uid)
  for (const uid of over.keys()) if (!goneSince.has(uid)) goneSince.set(uid, now)
  return new Map([...goneSince].map(([uid, since]) => [uid, since + (over.get(uid) ?? 0)]))
}

/** `now`: epoch ms. */
export const observeSplit = (seen: SeenSplit, now: number): ObservedSplit => {
  const { fencedUntil, known, pods, queues, sessions, stored, webhook, workload } = seen
  return {
    workload: workloadOf(workload),
    pods: pods.map(workloadPod),
    sessions: sessions.map((session) => wantedSession(seen, session)),
    heldUntil: heldUntil(seen, now),
    configuration: configurationOf(seen),
    record: stored?.record,
    queues: queues.map(({ name, owner, quietSince, source }) => ({
      name,
      source,
      owner,
      quietSince,
      state: stateOf(known, name)
    })),
    given: givenStates(seen),
    webhook: webhook.state,
    forwarders: known.forwarders.running(),
    drains: known.drains.running(),
    fencedUntil,
    failures: known.failures,
    reported: known.reported,
    queueName: (source, role, seed) =>
      temporaryQueueName({
        original: source.name,
        role,
        random: sha256Hex(seed).slice(0, randomLength),
        template: stored?.record.times.nameTemplate,
        sha256Hex
      })
  }
}

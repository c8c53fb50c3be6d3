/**
 * Remembers the sessions that people have stopped, in a ConfigMap beside the operator: the memory outlives the
 * session's object, the process and its time as leader. How long it lasts is decided in
 * `domain/sessions/stopped-sessions.ts`.
 */

import { Clock, Effect } from "effect"
import { asObject } from "../../domain/json.ts"
import { configMaps } from "../../domain/resources/core-kinds.ts"
import { timestamp } from "../../domain/resources/object-meta.ts"
import { rememberStopped, type StoppedSessions, wasStopped } from "../../domain/sessions/stopped-sessions.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../ports/kube-api.ts"
import { type LedgerEntries, type LedgerPlace, writeLedger } from "./ledger.ts"
import { orIf } from "./or-if.ts"
import type { Reflector } from "./reflector.ts"

const ledgerName = "mirrord-operator-stopped-sessions"

/** How long a request waits until the ledgers have been read, in ms. */
const patience = 30_000

/** The stopped sessions of one sort, by their objects' names. */
export interface StoppedLedger {
  /** Whether the session was stopped lately, through this process or an earlier one. */
  readonly has: (session: string) => Effect.Effect<boolean, KubeError>
  /** Remembers sessions. It comes before their deletion, so that no moment is left in which they could begin again. */
  readonly record: (sessions: ReadonlyArray<string>) => Effect.Effect<void, KubeError>
}

type Reading = Effect.Effect<KubeObject | undefined, KubeError>

/** Reads the ledger from the cache of all ledgers. */
export const cachedLedger = (api: KubeApi, namespace: string, cache: Reflector): Reading => {
  const late = new KubeError({
    cluster: api.cluster,
    operation: `list ${configMaps.plural}`,
    reason: "Unreachable",
    detail: `the ledgers in namespace ${namespace} were not read within ${patience / 1000} s`
  })
  const found = Effect.sync(() => cache.get(ledgerName, namespace))
  const awaited = Effect.andThen(cache.awaitSynced, found)
  return Effect.suspend(() =>
    cache.synced() ? found : Effect.timeoutOrElse(awaited, { duration: patience, orElse: () => Effect.fail(late) })
  )
}

/** Reads the ledger by one call. */
export const storedLedger = (api: KubeApi, namespace: string): Reading =>
  api.get(configMaps, ledgerName, namespace).pipe(orIf("NotFound", Effect.undefined))

/** The sessions in a ledger, oldest first. They count from `now`, because another host's clock has dated them. */
const sessionsOf = (ledger: KubeObject | undefined, now: number): StoppedSessions => {
  const entries = Object.entries(asObject(ledger?.["data"]))
  const dated = entries.map(([session, date]) => [session, String(date)] as const)
  return new Map(dated.toSorted(([, a], [, b]) => (a < b ? -1 : 1)).map(([session]) => [session, now]))
}

/** `read` reads the ledger; it is used once, since only the leader writes. */
export const makeStoppedLedger = (api: KubeApi, namespace: string, read: Reading): StoppedLedger => {
  const place: LedgerPlace = { api, namespace, name: ledgerName, kind: "stopped-sessions" }
  let memory: StoppedSessions | undefined
  const known: Effect.Effect<readonly [StoppedSessions, number], KubeError> = Effect.gen(function* () {
    const found = memory === undefined ? yield* read : undefined
    const now = yield* Clock.currentTimeMillis
    memory ??= sessionsOf(found, now)
    return [memory, now] as const
  })
  return {
    has: (session) => Effect.map(known, ([stopped, now]) => wasStopped(stopped, session, now)),
    record: (sessions) =>
      Effect.flatMap(known, ([before, now]) => {
        const { forgotten, stopped } = rememberStopped(before, sessions, now)
        memory = stopped
        const entries: LedgerEntries = {
          ...Object.fromEntries(forgotten.map((session) => [session, null])),
          ...Object.fromEntries(sessions.filter((name) => stopped.has(name)).map((name) => [name, timestamp(now)]))
        }
        return writeLedger(place, entries)
      })
  }
}

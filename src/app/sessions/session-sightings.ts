/**
 * Remembers when this process first saw sessions, their ends and their heartbeats. Ages are counted from then, by one
 * steady clock, never from the times that objects carry: clocks of hosts differ and jump (failures.md §4.12). Reads no
 * clock: the caller passes the time.
 */

import { Predicate } from "effect"
import { isBeingDeleted, timestamp } from "../../domain/resources/object-meta.ts"
import { isInactive, type SocketPresence } from "../../domain/sessions/liveness.ts"
import type { KubeObject } from "../../ports/kube-api.ts"

/** Times of this process's clock, epoch ms. */
interface SeenTimes {
  readonly created: number
  /** Since when the session is being deleted, and since when it is `Failed`, if so. */
  readonly deleted: number | undefined
  readonly failed: number | undefined
}

/** The last heartbeat that this process wrote. `at`: when; `aliveAt`: when its client was there last. */
interface OwnHeartbeat {
  readonly value: string
  readonly at: number
  readonly aliveAt: number
}

/** The phase in a parent's status, if there is one. */
export const recordedPhase = ({ status }: KubeObject): unknown =>
  Predicate.hasProperty(status, "phase") ? status.phase : undefined

/** The sightings of all sessions of one kind. */
export class SessionSightings {
  readonly #since: number
  readonly #sessions = new Map<string, SeenTimes & { readonly uid: string }>()
  readonly #heartbeats = new Map<string, { readonly value: string; readonly at: number }>()
  readonly #written = new Map<string, OwnHeartbeat>()

  /** `since`: when this process began, epoch ms. */
  constructor(since: number) {
    this.#since = since
  }

  /** How many sessions have entries. */
  get size(): number {
    return Math.max(this.#sessions.size, this.#heartbeats.size, this.#written.size)
  }

  /** Records a session's object. `wasThere`: the object came with the first list, so it is older than this process. */
  saw(object: KubeObject, wasThere: boolean, now: number): void {
    const { metadata } = object
    const uid = metadata.uid ?? ""
    const entry = this.#sessions.get(metadata.name)
    const known = entry?.uid === uid ? entry : undefined
    const isDeleting = isBeingDeleted(metadata)
    const hasFailed = recordedPhase(object) === "Failed"
    this.#sessions.set(metadata.name, {
      uid,
      created: known?.created ?? (wasThere ? this.#since - 1 : now),
      deleted: isDeleting ? (known?.deleted ?? now) : undefined,
      failed: hasFailed ? (known?.failed ?? now) : undefined
    })
  }

  /** When the session, its deletion and its failure were first seen. */
  seen(session: string): SeenTimes {
    const { created = this.#since - 1, deleted, failed } = this.#sessions.get(session) ?? {}
    return { created, deleted, failed }
  }

  /**
   * When the heartbeat `value` was first seen, epoch ms; `undefined` if there is none. A session's first heartbeat may
   * be older than this process: its own time counts, but never a time later than now. For one of this process's own,
   * the time at which the client was there counts: those after its end are for others alone.
   */
  heartbeatSeen(session: string, value: string | null | undefined, now: number): number | undefined {
    if (value === undefined || value === null) return undefined
    const known = this.#heartbeats.get(session)
    if (known?.value === value) return known.at
    const own = this.#written.get(session)
    const seen = known === undefined ? Math.min(now, Date.parse(value) || now) : now
    const at = own?.value === value ? Math.min(seen, own.aliveAt) : seen
    this.#heartbeats.set(session, { value, at })
    return at
  }

  /** Whether the session has no client. `sockets`: those at this replica. */
  isInactive(session: string, heartbeat: string | null | undefined, sockets: SocketPresence, now: number): boolean {
    const heartbeatAt = this.heartbeatSeen(session, heartbeat, now)
    return isInactive({ createdAt: this.seen(session).created, heartbeatAt, leaderSince: this.#since, sockets }, now)
  }

  /** As {@link heartbeatSeen}, for the heartbeat in a session's object. */
  sawHeartbeat({ metadata, status }: KubeObject, now: number): void {
    const value = Predicate.hasProperty(status, "connectedTimestamp") ? status.connectedTimestamp : undefined
    this.heartbeatSeen(metadata.name, typeof value === "string" ? value : undefined, now)
  }

  /** Gives the heartbeat that this process writes for its own sockets now. */
  write(session: string, { lastClosedAt, open }: SocketPresence, now: number): string {
    const value = timestamp(now)
    this.#written.set(session, { value, at: now, aliveAt: open > 0 ? now : (lastClosedAt ?? now) })
    return value
  }

  lastWritten(session: string): number | undefined {
    return this.#written.get(session)?.at
  }

  forget(session: string): void {
    this.#sessions.delete(session)
    this.#heartbeats.delete(session)
    this.#written.delete(session)
  }
}

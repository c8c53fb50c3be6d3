/**
 * When this process saw what of sessions. Ages are counted from then, by one steady clock, never from the times that
 * objects carry: clocks of hosts differ and jump (failures.md §4.12). No clock: the caller says what time it is.
 */
import { Predicate } from "effect"
import { isBeingDeleted } from "../../domain/resources/object-meta.ts"
import type { KubeObject } from "../../ports/kube-api.ts"

/** By this process's clock, epoch ms. */
interface SeenTimes {
  readonly created: number
  /** Since when it is being deleted, and since when it is `Failed`, if so. */
  readonly deleted: number | undefined
  readonly failed: number | undefined
}

/** The phase of a parent's object, as far as anybody wrote one. */
export const phaseOf = ({ status }: KubeObject): unknown =>
  Predicate.hasProperty(status, "phase") ? status.phase : undefined

/** What was seen of the sessions of one kind. */
export class SessionSightings {
  readonly #since: number
  readonly #sessions = new Map<string, SeenTimes & { readonly uid: string }>()
  readonly #heartbeats = new Map<string, { readonly value: string; readonly at: number }>()
  readonly #written = new Map<string, number>()

  /** `since`: when this process began, epoch ms. */
  constructor(since: number) {
    this.#since = since
  }

  /** How many sessions it knows something of. */
  get size(): number {
    return Math.max(this.#sessions.size, this.#heartbeats.size, this.#written.size)
  }

  /** Takes note of a session's object. `wasThere`: it came with the first list, so it is older than this process. */
  saw(object: KubeObject, wasThere: boolean, now: number): void {
    const { metadata } = object
    const uid = metadata.uid ?? ""
    const entry = this.#sessions.get(metadata.name)
    const known = entry?.uid === uid ? entry : undefined
    const isDeleting = isBeingDeleted(metadata)
    const hasFailed = phaseOf(object) === "Failed"
    this.#sessions.set(metadata.name, {
      uid,
      created: known?.created ?? (wasThere ? this.#since - 1 : now),
      deleted: isDeleting ? (known?.deleted ?? now) : undefined,
      failed: hasFailed ? (known?.failed ?? now) : undefined
    })
  }

  /** When what was first seen of the session. */
  seen(session: string): SeenTimes {
    const { created = this.#since - 1, deleted, failed } = this.#sessions.get(session) ?? {}
    return { created, deleted, failed }
  }

  /**
   * When the heartbeat `value` was first seen, epoch ms; nothing while there is none. One that was there before this
   * process is as old as it says, but never younger than now.
   */
  heartbeatSeen(session: string, value: string | null | undefined, now: number): number | undefined {
    if (value === undefined || value === null) return undefined
    const known = this.#heartbeats.get(session)
    if (known?.value === value) return known.at
    const at = known === undefined ? Math.min(now, Date.parse(value) || now) : now
    this.#heartbeats.set(session, { value, at })
    return at
  }

  /** As {@link heartbeatSeen}, for the heartbeat in a session's object. */
  sawHeartbeat({ metadata, status }: KubeObject, now: number): void {
    const value = Predicate.hasProperty(status, "connectedTimestamp") ? status.connectedTimestamp : undefined
    this.heartbeatSeen(metadata.name, typeof value === "string" ? value : undefined, now)
  }

  /** This process wrote the session's heartbeat itself. */
  wrote(session: string, now: number): void {
    this.#written.set(session, now)
  }

  lastWritten(session: string): number | undefined {
    return this.#written.get(session)
  }

  forget(session: string): void {
    this.#sessions.delete(session)
    this.#heartbeats.delete(session)
    this.#written.delete(session)
  }
}

import type { KubeObject } from "../../ports/kube-api.ts"

interface Seen {
  readonly uid: string
  readonly created: number
  readonly deleted: number | undefined
}

/**
 * When this process learnt what about sessions. Their ages are counted from then, by one steady clock, never from the times that objects
 * carry: clocks of hosts differ and jump (failures.md class 13).
 */
export class SessionClock {
  readonly #since: number
  readonly #sessions = new Map<string, Seen>()
  readonly #heartbeats = new Map<string, { readonly value: string; readonly at: number }>()
  readonly #written = new Map<string, number>()

  /** `since`: when this process began, epoch ms. */
  constructor(since: number) {
    this.#since = since
  }

  /** Takes note of a session's object. `wasThere`: it came with the first list, so it is older than this process. */
  saw({ metadata }: KubeObject, wasThere: boolean, now: number): void {
    const { name } = metadata
    const uid = metadata.uid ?? ""
    const known = this.#sessions.get(name)
    const created = known?.uid === uid ? known.created : wasThere ? this.#since - 1 : now
    const isDeleting = (metadata.deletionTimestamp ?? undefined) !== undefined
    const deleted = isDeleting ? ((known?.uid === uid ? known.deleted : undefined) ?? now) : undefined
    if (known?.uid !== uid || known.deleted !== deleted) this.#sessions.set(name, { uid, created, deleted })
  }

  /** When the session was seen first, and first being deleted, epoch ms. */
  seen(session: string): { readonly created: number; readonly deleted: number | undefined } {
    const { created = this.#since - 1, deleted } = this.#sessions.get(session) ?? {}
    return { created, deleted }
  }

  /**
   * When the heartbeat `value` was first seen, epoch ms; nothing while there is none. One that was there before this process is as
   * old as it says, but never younger than now.
   */
  heartbeatSeen(session: string, value: string | null | undefined, now: number): number | undefined {
    if (value === undefined || value === null) return undefined
    const known = this.#heartbeats.get(session)
    if (known?.value === value) return known.at
    const at = known === undefined ? Math.min(now, Date.parse(value) || now) : now
    this.#heartbeats.set(session, { value, at })
    return at
  }

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

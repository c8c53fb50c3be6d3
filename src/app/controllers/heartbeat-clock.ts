import type { KubeObject } from "../../ports/kube-api.ts"

const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

/** Fields that differ by nature between two versions of an object, or that are compared for themselves. */
const isSameBeside = (left: object, right: object, skipped: ReadonlyArray<string>): boolean => {
  const [a, b] = [left, right].map((object) => Object.entries(object).filter(([key]) => !skipped.includes(key)))
  return a?.length === b?.length && a?.every(([key, value], i) => key === b?.[i]?.[0] && isSame(value, b[i]?.[1])) === true
}

/** Whether nothing but the heartbeat is new. Such a change is no reason to plan a session again (failures.md class 12). */
export const isHeartbeatOnly = (before: KubeObject | undefined, after: KubeObject): boolean =>
  before !== undefined &&
  before.metadata.resourceVersion !== after.metadata.resourceVersion &&
  isSameBeside(before["status"] ?? {}, after["status"] ?? {}, ["connectedTimestamp"]) &&
  isSameBeside(before.metadata, after.metadata, ["resourceVersion", "managedFields"]) &&
  isSameBeside(before, after, ["metadata", "status"])

/**
 * When heartbeats of sessions were written and seen by this process. A session's life is counted from when its heartbeat was seen
 * to change, not from the time that it carries: clocks of hosts differ (failures.md class 13).
 */
export class HeartbeatClock {
  readonly #seen = new Map<string, { readonly value: string; readonly at: number }>()
  readonly #written = new Map<string, number>()

  /**
   * When the heartbeat `value` was first seen, epoch ms; nothing while there is none. One that was there before this process is as
   * old as it says, but never younger than now.
   */
  seen(session: string, value: string | null | undefined, now: number): number | undefined {
    if (value === undefined || value === null) return undefined
    const known = this.#seen.get(session)
    if (known?.value === value) return known.at
    this.#seen.set(session, { value, at: known === undefined ? Math.min(now, Date.parse(value) || now) : now })
    return this.#seen.get(session)?.at
  }

  wrote(session: string, now: number): void {
    this.#written.set(session, now)
  }

  lastWritten(session: string): number | undefined {
    return this.#written.get(session)
  }

  forget(session: string): void {
    this.#seen.delete(session)
    this.#written.delete(session)
  }
}

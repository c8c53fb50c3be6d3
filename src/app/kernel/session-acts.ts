/**
 * Tells listeners of the acts about sessions that are audited (audit.ts), as they happen.
 */

import { Context } from "effect"
import type { SessionAct } from "../../domain/sessions/session-act.ts"

/** `at`: epoch ms. */
type Listener = (act: SessionAct, at: number) => void

export class SessionActs {
  readonly #listeners: Array<Listener> = []

  /** Calls every listener before it returns. */
  readonly publish = (act: SessionAct, at: number): void => {
    for (const listener of this.#listeners) listener(act, at)
  }

  /** Listeners end with the operator. */
  readonly subscribe = (listener: Listener): void => {
    this.#listeners.push(listener)
  }
}

/** The acts of one operator; those outside of one have no listeners. */
export const CurrentSessionActs = Context.Reference("braid/app/CurrentSessionActs", {
  defaultValue: () => new SessionActs()
})

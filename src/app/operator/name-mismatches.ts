/**
 * Logs a session whose certificate comes in with another Kubernetes user than the session was started by. Refuses
 * nothing: behind assumed roles the name changes with every renewed credential (docs/concepts/decisions.md).
 */

import { Effect } from "effect"
import { oneLine } from "../../domain/one-line.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import { logWarning } from "../kernel/log.ts"
import { CurrentRepeatedLines } from "../kernel/repeated-lines.ts"

/** The most pairs that are remembered; beyond, those that were logged first are forgotten. */
const maxPairs = 10_000
/** Longest name in a line, UTF-16 code units. */
const maxName = 300

const name = (text: string): string => oneLine(text, maxName)

export class NameMismatches {
  /** Pairs of a session and a Kubernetes user that the log has named, the oldest first. */
  readonly #told = new Set<string>()

  /** Compares the owner of a session with the user who connects to it, whose certificate has been verified. */
  readonly compare = (session: string, owner: SessionOwner, comes: SessionOwner): Effect.Effect<void> => {
    if (owner.userId !== comes.userId || owner.k8sUsername === comes.k8sUsername) return Effect.void
    const pair = `${session} ${comes.k8sUsername}`
    if (this.#told.has(pair)) return Effect.void
    this.#told.add(pair)
    const [oldest] = this.#told
    if (this.#told.size > maxPairs && oldest !== undefined) this.#told.delete(oldest)
    const line = logWarning("another Kubernetes user comes with the certificate of a session", {
      session: name(session),
      owner: name(owner.k8sUsername),
      user: name(comes.k8sUsername)
    })
    const sum = (count: number) => logWarning("more users come with the certificates of others' sessions", { count })
    return Effect.flatMap(CurrentRepeatedLines, ({ tell }) => tell("name mismatch", line, sum))
  }
}

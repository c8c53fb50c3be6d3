/**
 * Judges the commands of a primary by their numbers, so that none is carried out twice and none brings back what an
 * earlier one said, be it repeated, late, or of a primary that was restored from a backup. A member keeps the last
 * number that it has accepted beside what the command has changed, by one write.
 *
 * A member learns the epoch, which is the UID of the authority's Secret, with the certificate for a token and nowhere
 * else: only a token is proof that people want another one.
 */

import { quoted } from "../clean-text.ts"
import type { ClusterName } from "../fleet/cluster-name.ts"
import { renewCommand } from "./renew-command.ts"

/** The place of a command among all of a primary. */
export interface CommandSequence {
  readonly epoch: string
  /** Grows from change to change. */
  readonly number: number
}

/**
 * - `Accept`: keep its number, and carry it out.
 * - `Repeat`: it was carried out already; answer as then.
 * - `Behind`: refuse it.
 */
export type CommandVerdict = "Accept" | "Repeat" | "Behind"

/** Judges a command after the last one that was accepted. `isHeld`: whether what it brings is here already. */
export const judgeCommand = (last: CommandSequence, given: CommandSequence, isHeld: boolean): CommandVerdict => {
  if (given.epoch !== last.epoch) return "Behind"
  if (given.number > last.number) return "Accept"
  return given.number === last.number && isHeld ? "Repeat" : "Behind"
}

/** The sentence for people about a member that refuses a command. `own`: where this primary is. */
export const whyBehind = (name: ClusterName, own: CommandSequence, last: CommandSequence): string => {
  const known =
    own.epoch === last.epoch
      ? `Cluster ${quoted(name)} has accepted number ${last.number} of this primary's commands, and the primary is ` +
        `at number ${own.number} with another content: it was restored from a backup.`
      : `Cluster ${quoted(name)} follows another epoch of its primary (${quoted(last.epoch)}) than the present one ` +
        `(${quoted(own.epoch)}): the Secret of the authority was written again.`
  return (
    `${known} The cluster keeps the authorities that it has. Run ${renewCommand(name)}, and give the cluster the ` +
    "token, with which it follows this primary again."
  )
}

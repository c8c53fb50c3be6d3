/**
 * Judges a token that a member shows for its first certificate, or for another one after its last has ended.
 *
 * Not here: the order of the work. The token is spent, and the certificate's key admitted, by one write before the
 * certificate is sent (app/outbound/members.ts): a crash between the two costs a token, and no token gives two.
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import type { ClusterName } from "../fleet/cluster-name.ts"
import { momentText } from "../fleet/credentials/validity.ts"
import type { BootstrapToken, StoredToken } from "./bootstrap-token.ts"
import { renewCommand } from "./renew-command.ts"

/** Why no certificate is given. */
export interface RefusedRedemption {
  /** Sent to the member with 401: the same text for every reason, since the sender is not known. */
  readonly answer: string
  /** The precise reason, a clause for the primary's log and Event. It holds no secret. */
  readonly reason: string
}

const answer =
  "this token cannot be used: it is wrong, was used, or has ended; run `braid join NAME --outbound --cell HOST:PORT " +
  `--apply\` for another one, or ${renewCommand("NAME")} for a cluster that has joined before, and look at the ` +
  "primary's log"

/** A refusal for a reason that is found outside of {@link judgeRedemption}, such as a token that cannot be read. */
export const refusedRedemption = (reason: string): RefusedRedemption => ({ answer, reason })

/** A token that was shown, with all that is known of it. */
export interface ShownToken {
  readonly token: Omit<BootstrapToken, "secret">
  /** The stored token of that id; `undefined` if there is none that can be read. */
  readonly stored: StoredToken | undefined
  /** Whether the hash of the secret is the stored one, compared in constant time. */
  readonly isSame: boolean
  /** Whether the primary's configuration names the cluster as one that dials out. */
  readonly joined: boolean
  /** Epoch ms. */
  readonly now: number
}

const reasonOf = ({ isSame, joined, now, stored, token }: ShownToken): string | undefined => {
  const title = `the token ${token.id} for cluster ${quoted(token.name)}`
  if (stored === undefined) return `${title} is not stored: it was used, has ended, or was never made here`
  if (!isSame) return `${title} came with a wrong secret`
  // An exact comparison: a name that only looks like another one is another cluster's.
  if (stored.name !== token.name) return `${title} was made for cluster ${quoted(stored.name)}`
  if (now >= stored.until) return `${title} ended at ${momentText(stored.until)}`
  return joined ? undefined : `${title} is for a cluster that the configuration does not name as one that dials out`
}

/** The name for the certificate, or why there is none. */
export const judgeRedemption = (
  shown: ShownToken
): Result.Result<{ readonly name: ClusterName }, RefusedRedemption> => {
  const reason = reasonOf(shown)
  return reason === undefined ? Result.succeed({ name: shown.token.name }) : Result.fail(refusedRedemption(reason))
}

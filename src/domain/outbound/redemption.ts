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
  /**
   * Sent to the member: the same text for every reason, since the sender is not known, unless the token is good or
   * nothing can be said of it.
   */
  readonly answer: string
  /** The precise reason, a clause for the primary's log and Event. It holds no secret. */
  readonly reason: string
  /** Whether the same token may be good in a while, so that the member is to try it again. */
  readonly mayPass: boolean
}

const answer =
  "this token cannot be used: it is wrong, was used, or has ended; run `braid join NAME --outbound --cell HOST:PORT " +
  `--apply\` for another one, or ${renewCommand("NAME")} for a cluster that has joined before, and look at the ` +
  "primary's log"

/** A command writes configuration and token together, and a kubelet takes a minute to bring the first to a pod. */
const answerForNow =
  "the primary's operator does not know yet that this cluster dials out; a change of its configuration takes up to " +
  "two minutes to reach it, and the token is tried again by itself"

const answerWithoutSecret =
  "the primary's operator cannot read or write the Secret of this cluster for now; its log says why, and the token " +
  "is tried again by itself"

/** A refusal for a reason that is found outside of {@link judgeRedemption}, such as a text that is no token. */
export const refusedRedemption = (reason: string): RefusedRedemption => ({ answer, reason, mayPass: false })

/**
 * A refusal because the Secret with the token cannot be read or written. Its API server may be away for a moment: for a
 * member that took that for the end of its token, people would have to make another one.
 */
export const postponedRedemption = (reason: string): RefusedRedemption => ({
  answer: answerWithoutSecret,
  reason,
  mayPass: true
})

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

const titleOf = ({ id, name }: ShownToken["token"]): string => `the token ${id} for cluster ${quoted(name)}`

const reasonOf = ({ isSame, now, stored, token }: ShownToken): string | undefined => {
  const title = titleOf(token)
  if (stored === undefined) return `${title} is not stored: it was used, has ended, or was never made here`
  if (!isSame) return `${title} came with a wrong secret`
  // An exact comparison: a name that only looks like another one is another cluster's.
  if (stored.name !== token.name) return `${title} was made for cluster ${quoted(stored.name)}`
  return now >= stored.until ? `${title} ended at ${momentText(stored.until)}` : undefined
}

/** The name for the certificate, or why there is none. */
export const judgeRedemption = (
  shown: ShownToken
): Result.Result<{ readonly name: ClusterName }, RefusedRedemption> => {
  const { joined, token } = shown
  const reason = reasonOf(shown)
  if (reason !== undefined) return Result.fail(refusedRedemption(reason))
  const lacking = `${titleOf(token)} is for a cluster that the configuration does not name as one that dials out`
  return joined
    ? Result.succeed({ name: token.name })
    : Result.fail({ answer: answerForNow, reason: lacking, mayPass: true })
}

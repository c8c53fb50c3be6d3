/**
 * The policies of one pod of a target, for the traffic that comes to it. Targets that select by labels lead to pods of
 * several workloads, and to pods that come later; the policies of each pod's owners hold at that pod.
 *
 * Not here: environment, files and outgoing connections, which a session has from one pod alone (session-policies.ts).
 */

import { quoted } from "../clean-text.ts"
import { clientMessage } from "../protocol/client-message.ts"
import { type Forbidden, forbiddenMirror, forbiddenSteal } from "./incoming-rules.ts"
import type { PolicyRules } from "./policy-rules.ts"
import { policiesFor, type SessionPolicies } from "./session-policies.ts"
import type { PolicySubject } from "./target-pattern.ts"

/** A policy as far as it is about a session's profile and the traffic that comes to the target. */
const incomingOf = (policy: PolicyRules): PolicyRules => ({
  ...policy,
  hiddenVariables: [],
  files: { local: [], notFound: [], readOnly: [] },
  outgoing: { allow: [], block: [] }
})

/** The policies of a pod, as far as they are about profile and traffic, without those that the session is held to. */
export const policiesOfPod = (
  all: ReadonlyArray<PolicyRules>,
  pod: PolicySubject,
  held: SessionPolicies
): ReadonlyArray<PolicyRules> => {
  const known = new Set(held.policies.map(({ text }) => text))
  return policiesFor(all, pod)
    .policies.filter(({ text }) => !known.has(text))
    .map(incomingOf)
}

/** The reason why policies forbid a subscription to a port, the bytes of a client's message; other messages pass. */
const forbiddenMessage = (policies: ReadonlyArray<PolicyRules>, bytes: Uint8Array): Forbidden | undefined => {
  const decoded = clientMessage.decode(bytes)
  if (decoded._tag !== "Decoded") return undefined
  const { value: message } = decoded
  if (message._tag === "TcpSteal" && message.value._tag === "PortSubscribe")
    return forbiddenSteal(policies, message.value.value)
  const isMirror = message._tag === "Tcp" && message.value._tag.startsWith("PortSubscribe")
  return isMirror ? forbiddenMirror(policies) : undefined
}

/** Why a session may not go on in a pod as it is: a policy of the pod forbids one of its subscriptions. */
export const forbiddenAtPod = (
  policies: ReadonlyArray<PolicyRules>,
  subscriptions: Iterable<Uint8Array>
): Forbidden | undefined => {
  if (policies.length === 0) return undefined
  for (const bytes of subscriptions) {
    const found = forbiddenMessage(policies, bytes)
    if (found !== undefined) return found
  }
  return undefined
}

/** Why a pod is left out of a session, as the end of a sentence for its user and the log. */
export const whyForbidden = ({ policy, reason }: Forbidden): string =>
  `the mirrord policy ${quoted(policy)} forbids there what the session does: ${reason}`

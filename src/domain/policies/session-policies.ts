/**
 * The policies that apply to one session, out of all that there are.
 *
 * Not here: reading them (app/policies), and enforcing them on messages (policing.ts).
 */

import * as Order from "effect/Order"
import { quotation } from "../clean-text.ts"
import type { PolicyRules } from "./policy-rules.ts"
import { appliesTo, needsLineage, type PolicySubject, readPathPattern } from "./target-pattern.ts"

/** Variables by which the operator gives an agent its settings. */
const agentVariables = ["MIRRORD_AGENT_*", "AGENT_OPERATOR_CERT_ENV"]

/**
 * Holds for every session without a target: its agent answers subscriptions with `Close`, which would end the session
 * (wire.md §7.4), and answers its own variables as if they were a target's (agent.md §5).
 */
const withoutTarget: PolicyRules = {
  name: "targetless",
  target: { namespace: undefined, paths: readPathPattern("targetless"), selector: undefined },
  appliesToCopies: false,
  blocks: new Set(["steal", "mirror"]),
  headerFilter: undefined,
  requiresProfile: false,
  profiles: undefined,
  hiddenVariables: agentVariables,
  files: { local: [], notFound: [], readOnly: [] },
  outgoing: { allow: [], block: [] },
  text: ""
}

/** Holds where agents are ephemeral containers: these answer their own variables beside the target's (agent.md §5). */
const ofEphemeralAgents: PolicyRules = {
  ...withoutTarget,
  name: "ephemeral agents",
  target: { namespace: undefined, paths: undefined, selector: undefined },
  appliesToCopies: true,
  blocks: new Set()
}

/** The policies of a session, in one order whatever the order in which they came. */
export interface SessionPolicies {
  readonly policies: ReadonlyArray<PolicyRules>
  /** The same for the same policies. */
  readonly text: string
}

const byText = Order.mapInput(Order.String, ({ text }: PolicyRules) => text)

/**
 * The policies that apply to a target, with those that always hold for it, or for agents of its kind. For a session on
 * a copy they are those that say so (published).
 */
export const policiesFor = (
  all: ReadonlyArray<PolicyRules>,
  subject: PolicySubject,
  tellsAgentVariables = false
): SessionPolicies => {
  const own = tellsAgentVariables ? [withoutTarget, ofEphemeralAgents] : [withoutTarget]
  const policies = [...own, ...all]
    .filter(
      ({ appliesToCopies, target }) => (subject.copy === undefined || appliesToCopies) && appliesTo(target, subject)
    )
    .toSorted(byText)
  return { policies, text: JSON.stringify(policies.map(({ text }) => text)) }
}

/**
 * Why a copy may not take the pods of its target's workload, as a sentence for its user. A policy that blocks this is
 * about the target, so it need not say that it holds for sessions on copies (published), and about all containers.
 */
export const scaleDownProblem = (all: ReadonlyArray<PolicyRules>, subject: PolicySubject): string | undefined => {
  if (subject.copy?.scaledown !== true) return undefined
  const target = { ...subject, containers: undefined }
  const blocking = all.find((rules) => rules.blocks.has("copy-target-scale-down") && appliesTo(rules.target, target))
  return blocking === undefined
    ? undefined
    : `Operation was blocked by policy \`${blocking.name}\`: no copy may take the pods of this target ` +
        "(copy-target-scale-down). Take feature.copy_target.scale_down out, or ask an administrator."
}

/** Whether it must be known which labels the target has and which objects own it. */
export const mustKnowLineage = (all: ReadonlyArray<PolicyRules>, namespace: string): boolean =>
  all.some(({ target }) => (target.namespace ?? namespace) === namespace && needsLineage(target))

/** The sentences that a user gets at the start of a session, about what its program would otherwise miss silently. */
export const policyNotes = ({ policies }: SessionPolicies): ReadonlyArray<string> =>
  policies.flatMap((policy) => {
    const { hiddenVariables, name } = policy
    return hiddenVariables.length === 0 || policy === withoutTarget || policy === ofEphemeralAgents
      ? []
      : [
          `the mirrord policy "${name}" keeps environment variables of the target from this session: ` +
            quotation(hiddenVariables.join(", "))
        ]
  })

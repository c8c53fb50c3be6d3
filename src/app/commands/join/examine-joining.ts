/**
 * Looks at a member as its primary will see it: with exactly these credentials, this address and this CA, as `braid
 * doctor` does, and by the way of a link.
 *
 * Not here: finding the credentials (joining-credentials.ts), and what the findings mean (domain/commands/doctor).
 */

import { Effect } from "effect"
import { examineCluster } from "../../../domain/commands/doctor/examine-cluster.ts"
import { type Finding, verdictOf } from "../../../domain/commands/doctor/finding.ts"
import type { MemberConfiguration } from "../../../domain/fleet/configuration.ts"
import type { MemberCredentials } from "../../../domain/fleet/credentials/member-credentials.ts"
import { examinedMember, memberWith } from "../doctor/examined-member.ts"
import type { Installation } from "../doctor/installation.ts"
import { observeCluster } from "../doctor/observe-cluster.ts"
import type { MemberCluster } from "./member-cluster.ts"
import { tryLink } from "./try-link.ts"

export interface Examined {
  readonly findings: ReadonlyArray<Finding>
  /** Whether the API server does not know the credentials. */
  readonly isRefused: boolean
}

/** Tries credentials at a member. */
export const examineJoining = Effect.fnUntraced(function* (
  member: MemberConfiguration,
  credentials: MemberCredentials,
  timeoutSecs: number
): Effect.fn.Return<Examined> {
  const facts = yield* observeCluster(memberWith(member, false, credentials, "the primary"), timeoutSecs)
  const findings = examineCluster(facts)
  const link = verdictOf(findings) === "failed" ? [] : [yield* tryLink(member, credentials, timeoutSecs)]
  return { findings: [...findings, ...link], isRefused: facts.user._tag === "Refused" && facts.user.code === 401 }
})

/** The checks that a person's own credentials can answer. */
const personal: ReadonlyArray<Finding["check"]> = ["resources", "operator"]

/**
 * Looks at a member of a cloud, whose tokens only the operator makes: at its connection and at what the operator says
 * of it, and with a person's own credentials at its operator.
 */
export const examineCloudMember = Effect.fnUntraced(function* (
  member: MemberConfiguration,
  { config, context }: MemberCluster,
  installation: Installation,
  timeoutSecs: number
): Effect.fn.Return<ReadonlyArray<Finding>> {
  const asPrimary = yield* examinedMember(member, false, installation)
  const asPerson = { ...asPrimary, config, credentials: { _tag: "Other", from: `context ${context}` } } as const
  const [seen, ours] = yield* Effect.all([asPrimary, asPerson].map((one) => observeCluster(one, timeoutSecs)))
  const findings = [seen, ours].map((facts) => (facts === undefined ? [] : examineCluster(facts)))
  return findings.flatMap((some, index) => some.filter(({ check }) => personal.includes(check) === (index === 1)))
})

/**
 * The rules of policies about subscriptions to a port, and about the profile of a session.
 *
 * Not here: the answer that a client gets (policing.ts).
 */

import { quoted } from "../clean-text.ts"
import type { HttpFilter, StealType } from "../protocol/http-filter-messages.ts"
import { type Effort, newEffort, type Regex } from "../regex.ts"
import type { PolicyRules } from "./policy-rules.ts"

/** Something that a policy forbids. The reason is a part of a sentence for the user. */
export interface Forbidden {
  readonly policy: string
  readonly reason: string
}

/** The longest header filter that is looked at. */
const maxFilter = 10_000
/** How deep filters may stand in one another. */
const deepestFilter = 50

const filterOf = (steal: StealType): HttpFilter | undefined => {
  switch (steal._tag) {
    case "All":
      return undefined
    case "FilteredHttp":
      return { _tag: "Header", value: steal.filter }
    case "FilteredHttpEx":
      return steal.filter
  }
}

/** Whether there is anything in a filter by which it could leave a request out. */
const filters = (filter: HttpFilter, depth = 0): boolean =>
  filter._tag !== "Composite" || (depth < deepestFilter && filter.filters.some((inner) => filters(inner, depth + 1)))

/**
 * Whether a header filter, itself a regular expression, matches a policy's pattern. Its own anchor does not count: the
 * published example wants `^baggage: .+` and takes the filter `^baggage: .*mirrord-session=alice.*`.
 */
const isWanted = (filter: string, pattern: Regex, effort: Effort): boolean =>
  filter.length <= maxFilter &&
  (pattern.matches(filter, effort) || (filter.startsWith("^") && pattern.matches(filter.slice(1), effort)))

/**
 * Whether at least one header filter matches the pattern. That is the published rule, for filters that must all hold
 * and for those of which any is enough.
 */
const hasWanted = (filter: HttpFilter, pattern: Regex, effort: Effort, depth = 0): boolean => {
  if (filter._tag === "Header") return isWanted(filter.value, pattern, effort)
  if (filter._tag !== "Composite" || depth >= deepestFilter) return false
  return filter.filters.some((inner) => hasWanted(inner, pattern, effort, depth + 1))
}

const stealReason = (
  { blocks, headerFilter }: PolicyRules,
  filter: HttpFilter | undefined,
  effort: Effort
): string | undefined => {
  if (blocks.has("steal")) return "it blocks stealing"
  const isFiltered = filter !== undefined && filters(filter)
  if (headerFilter !== undefined && (filter === undefined || !hasWanted(filter, headerFilter, effort)))
    return `stealing needs an HTTP header filter that matches ${quoted(headerFilter.pattern)}`
  return blocks.has("steal-without-filter") && !isFiltered ? "stealing needs an HTTP filter" : undefined
}

const first = (
  policies: ReadonlyArray<PolicyRules>,
  reasonOf: (policy: PolicyRules) => string | undefined
): Forbidden | undefined => {
  for (const policy of policies) {
    const reason = reasonOf(policy)
    if (reason !== undefined) return { policy: policy.name, reason }
  }
  return undefined
}

export const forbiddenSteal = (policies: ReadonlyArray<PolicyRules>, steal: StealType): Forbidden | undefined => {
  const filter = filterOf(steal)
  const effort = newEffort()
  return first(policies, (policy) => stealReason(policy, filter, effort))
}

export const forbiddenMirror = (policies: ReadonlyArray<PolicyRules>): Forbidden | undefined =>
  first(policies, ({ blocks }) => (blocks.has("mirror") ? "it blocks mirroring" : undefined))

const listOf = (profiles: ReadonlySet<string>): string =>
  profiles.size === 0 ? "none is allowed" : `allowed: ${[...profiles].slice(0, 20).map(quoted).join(", ")}`

/** Why a session may not use its profile, or go without one; the sentence is for its user. */
export const profileProblem = (
  policies: ReadonlyArray<PolicyRules>,
  profile: string | undefined
): string | undefined => {
  for (const { name, profiles, requiresProfile } of policies) {
    const hint = profiles === undefined ? "" : ` (${listOf(profiles)})`
    if (profile === undefined && requiresProfile)
      return (
        `The mirrord policy ${quoted(name)} wants every session with this target to use a profile; set profile in ` +
        `your mirrord configuration${hint}.`
      )
    if (profile !== undefined && profiles?.has(profile) === false)
      return (
        `The mirrord policy ${quoted(name)} does not allow profile ${quoted(profile)} for this target${hint}; set ` +
        "another profile in your mirrord configuration, or ask an administrator."
      )
  }
  return undefined
}

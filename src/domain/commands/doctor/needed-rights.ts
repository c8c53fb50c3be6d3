/**
 * The rights of all capabilities, and those of them that an installation needs: in the operator's own cluster by its
 * role, and on a member as the primary's identity.
 *
 * Not here: asking the API server for them (app/commands/doctor/ask-rights.ts) and judging the answers
 * (examine-rights.ts).
 */

import { agentRights } from "../../agents/rights.ts"
import { engines } from "../../branches/engines.ts"
import { branchRights } from "../../branches/rights.ts"
import { orderedBranchRights } from "../../branches/sync/rights.ts"
import type { Right, RightCard, RightCondition, RightHolder, Switch } from "../../catalogue/right.ts"
import { copyRights } from "../../copies/rights.ts"
import { credentialRights } from "../../fleet/credentials/rights.ts"
import { publishedRights } from "../../fleet/published-rights.ts"
import { fleetRights } from "../../fleet/rights.ts"
import type { Role } from "../../fleet/roles.ts"
import { shardingRights } from "../../fleet/sharding/rights.ts"
import { leadershipRights } from "../../leadership/rights.ts"
import { impersonatedGroups, type PeopleRules } from "../../outbound/impersonation.ts"
import { outboundRights } from "../../outbound/rights.ts"
import { outboundSettings } from "../../outbound/settings.ts"
import { policyRights } from "../../policies/rights.ts"
import { tlsRights } from "../../policies/tls/rights.ts"
import { queueRights } from "../../queues/rights.ts"
import { queueSettings } from "../../queues/settings.ts"
import { configurationSyncRights } from "../../queues/sync-rights.ts"
import type { BranchEngine } from "../../resources/chart-switches.ts"
import { clientKindRights } from "../../resources/rights.ts"
import { serverRights } from "../../server/rights.ts"
import { sessionRights } from "../../sessions/rights.ts"
import { targetRights } from "../../targets/rights.ts"

const cards: ReadonlyArray<RightCard> = [
  fleetRights,
  serverRights,
  leadershipRights,
  sessionRights,
  targetRights,
  agentRights,
  policyRights,
  tlsRights,
  copyRights,
  branchRights,
  orderedBranchRights,
  queueRights,
  configurationSyncRights,
  credentialRights,
  shardingRights,
  outboundRights,
  clientKindRights,
  publishedRights
]

/** The holders, in the order of the chart's file and of the reference page. */
export const rightHolders: ReadonlyArray<RightHolder> = ["operator", "link", "member", "developer", "cleanup"]

/** All rights of a holder, whatever their conditions. */
export const rightsOf = (holder: RightHolder): ReadonlyArray<Right> => cards.flatMap((card) => card[holder] ?? [])

/** The switches of the chart on which rights depend, by their variables. */
export const rightSwitches: Readonly<Record<string, Switch>> = Object.fromEntries(
  rightHolders
    .flatMap(rightsOf)
    .flatMap(({ whileOn }) => (whileOn === undefined ? [] : [[whileOn.variable, whileOn] as const]))
)

/** Parts of an installation that need rights of their own. */
export interface InstalledParts {
  /** The operator keeps its own serving certificate. */
  readonly ownCertificate: boolean
  /** Agents are ephemeral containers of targets' pods. */
  readonly ephemeralAgents: boolean
  /** Nodes are asked for room before an agent is made. */
  readonly asksNodes: boolean
  /** Targets are copied. */
  readonly copies: boolean
  /** Whether the switches of {@link rightSwitches} are on, by their variables. */
  readonly switches: Readonly<Record<string, boolean>>
  /** The engines whose databases have branches. */
  readonly branching: ReadonlyArray<BranchEngine>
  /** The rules of a member for people of its primary; with empty `groups` it lets none in. */
  readonly people: PeopleRules
}

/** An installation of which nothing is known: as the chart makes it without values. */
export const noParts: InstalledParts = {
  ownCertificate: false,
  ephemeralAgents: false,
  asksNodes: false,
  copies: true,
  switches: {},
  branching: [],
  people: { groups: [], extraKeys: [], prefix: "-" }
}

const engineConditions = (branching: ReadonlyArray<BranchEngine>) => ({
  branching: branching.length > 0,
  pgBranching: branching.includes("pg"),
  mysqlBranching: branching.includes("mysql"),
  mongodbBranching: branching.includes("mongodb"),
  servedEngine: branching.some((engine) => engines[engine].dialect !== undefined)
})

/**
 * The conditions as far as an installation shows them; `undefined` if only the chart's values say it, and its rights
 * are not asked for.
 */
export const installedConditions = (
  role: Role,
  { asksNodes, branching, copies, ephemeralAgents, ownCertificate, people, switches }: InstalledParts
): Readonly<Record<RightCondition, boolean | undefined>> => {
  const primary = role._tag === "Primary"
  const workloads = !primary || !role.managementOnly
  const ofEngines = engineConditions(branching)
  const branches = ofEngines.branching && workloads && (!primary || role.isDefault)
  const orderedBranches = ofEngines.branching && primary && !role.isDefault
  return {
    ...ofEngines,
    primary,
    workloads,
    branches,
    orderedBranches,
    hasBranches: branches || orderedBranches,
    agentJobs: workloads && !ephemeralAgents,
    ephemeralAgents: workloads && ephemeralAgents,
    asksNodes: workloads && asksNodes && !ephemeralAgents,
    copies: workloads && copies,
    ownCertificate,
    sqsSplitting: switches[queueSettings.splitsSqs.variable] === true,
    clusterApi: undefined,
    clusterProfile: undefined,
    literalCredentials: undefined,
    memberAccount: undefined,
    openshift: undefined,
    people: switches[outboundSettings.dialsOut.variable] === true && people.groups.length > 0,
    previews: undefined,
    publishedWidth: undefined,
    renewsTokens: undefined,
    splitting: undefined
  }
}

/** A right for people, once for each listed group or key of their extras. */
const forPeople =
  (people: PeopleRules) =>
  (right: Right): ReadonlyArray<Right> => {
    if (right.name === "<people-group>") return impersonatedGroups(people).map((name) => ({ ...right, name }))
    return right.resource.includes("<extra-key>")
      ? people.extraKeys.map((key) => ({ ...right, resource: right.resource.replace("<extra-key>", key) }))
      : [right]
  }

const needed = (holders: ReadonlyArray<RightHolder>, role: Role, parts: InstalledParts): ReadonlyArray<Right> => {
  const conditions = installedConditions(role, parts)
  return holders
    .flatMap(rightsOf)
    .filter(
      ({ when = [], whileOn }) =>
        when.every((condition) => conditions[condition] === true) &&
        (whileOn === undefined || parts.switches[whileOn.variable] === true)
    )
    .flatMap(forPeople(parts.people))
}

/** All that an operator does in its own cluster. */
export const ownRights = (role: Role, parts: InstalledParts): ReadonlyArray<Right> =>
  needed(role._tag === "Primary" ? ["operator", "link"] : ["operator"], role, parts)

/**
 * All that a primary's identity does on a member. `branching`: the engines whose branches it orders there, none if this
 * is not its default cluster.
 */
export const memberRights = (branching: ReadonlyArray<BranchEngine>): ReadonlyArray<Right> =>
  needed(["link", "member"], { _tag: "Single" }, { ...noParts, branching })

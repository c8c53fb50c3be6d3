/**
 * The shape of a right on the Kubernetes API, and of a capability's card of rights. From all cards are made the roles
 * of the chart, the rights for which `braid doctor` asks, and docs/reference/rights.md.
 *
 * Not here: the rights themselves (`rights.ts` in the room of each capability) and their list
 * (commands/doctor/needed-rights.ts).
 */

/** The holders of rights, each with roles of its own in the chart. */
export type RightHolder =
  /** The operator, in its own cluster. */
  | "operator"
  /** A primary at the operator of a cluster: on a member, and in its own cluster. */
  | "link"
  /** A primary on a member, beside `link`. */
  | "member"
  /** A developer. */
  | "developer"
  /** The Job that runs before the chart is uninstalled. */
  | "cleanup"

/** Where a right holds: in the whole cluster, or in one namespace. */
export type RightScope =
  | "cluster"
  | "operator-namespace"
  | "agent-namespace"
  | "event-namespace"
  | "kube-system"
  | "cluster-api-namespace"
  | "cluster-profile-namespace"
  /** A namespace of a developer's targets: each one, unless the chart's `roleNamespaces` are used. */
  | "target-namespace"

/**
 * A condition under which a right is given. The chart judges it by its values (`braid.rightConditions`), `braid doctor`
 * by an installation (`installedConditions` in needed-rights.ts); scripts/reference/rights.ts says each in words.
 */
export type RightCondition =
  | "agentJobs"
  | "asksNodes"
  | "branches"
  | "branching"
  | "clusterApi"
  | "clusterProfile"
  | "copies"
  | "ephemeralAgents"
  | "hasBranches"
  | "literalCredentials"
  | "memberAccount"
  | "mongodbBranching"
  | "mysqlBranching"
  | "openshift"
  | "orderedBranches"
  | "ownCertificate"
  | "people"
  | "pgBranching"
  | "previews"
  | "primary"
  | "publishedWidth"
  | "renewsTokens"
  | "servedEngine"
  | "splitting"
  | "sqsSplitting"
  | "workloads"

/** A setting that is a switch of the chart. */
export interface Switch {
  readonly variable: string
  readonly form: "truth"
  readonly default: boolean
  /** The path of the chart's value. */
  readonly value: string
  readonly about: string
}

/** A right on one resource. */
export interface Right {
  readonly scope: RightScope
  readonly group: string
  /** With its subresource, if any: `pods/log`. In it, `<extra-key>` stands for each key of people's extras. */
  readonly resource: string
  readonly verbs: ReadonlyArray<string>
  /**
   * The only object that the right is for; missing: all objects. In it, `<cluster>` stands for each cluster's name, and
   * `<people-group>` for each group of people who may send requests through the primary.
   */
  readonly name?: string
  /** All of them have to hold; missing: the right is always given. */
  readonly when?: ReadonlyArray<RightCondition>
  /** A switch that has to be on as well; missing: none. */
  readonly whileOn?: Switch
  /** The loss without the right: the rest of a sentence after "without it". */
  readonly without: string
}

/** The rights that a capability needs, by their holders. */
export type RightCard = Readonly<Partial<Record<RightHolder, ReadonlyArray<Right>>>>

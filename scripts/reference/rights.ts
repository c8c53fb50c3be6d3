/** The page of rights. */

import type { Right, RightCondition, RightHolder, RightScope } from "../../src/domain/catalogue/right.ts"
import { rightHolders, rightsOf } from "../../src/domain/commands/doctor/needed-rights.ts"
import { code, type Page, table } from "./page.ts"

const holders: Readonly<Record<RightHolder, readonly [heading: string, sentence: string]>> = {
  operator: [
    "The operator in its own cluster",
    "The operator's account (`sa.name`). The roles are called `mirrord-operator`, or begin with `mirrord-operator-`."
  ],
  link: [
    "A primary at an operator",
    "ClusterRole `mirrord-operator-envoy`: a primary's identity on a member, and its own account in its own cluster."
  ],
  member: [
    "A primary on a member",
    "ClusterRole `mirrord-operator-envoy-remote`, beside those above. Role `mirrord-operator-envoy` renews a token."
  ],
  developer: [
    "Developers",
    "ClusterRoles `mirrord-operator-user` and `mirrord-operator-ci`; `mirrord-operator-user-basic` has the rights in " +
      "the whole cluster alone, and the Roles of `roleNamespaces` those in a namespace. The chart binds none of them."
  ],
  cleanup: [
    "Before the chart is uninstalled",
    "ClusterRole `mirrord-hooks`, for a Job of `helm uninstall` that ends sessions, copies, branches and splits."
  ]
}

const scopes: Readonly<Record<RightScope, string>> = {
  cluster: "the cluster",
  "operator-namespace": "the operator's namespace",
  "agent-namespace": "the agents' namespace",
  "event-namespace": "`default`",
  "kube-system": "`kube-system`",
  "cluster-api-namespace": "`operator.multiCluster.clusterApiNamespace`",
  "cluster-profile-namespace": "`operator.multiCluster.clusterProfileNamespace`",
  "target-namespace": "a target's namespace"
}

const conditions: Readonly<Record<RightCondition, string>> = {
  agentJobs: "agents are Jobs",
  asksNodes: "agents are Jobs and `agent.extraConfig.check_out_of_pods` is on",
  branches: "branches are made here: an engine is on, and this is no primary of which another cluster is the default",
  branching: "a value `operator.*Branching` is on",
  clusterApi: "`operator.multiCluster.providers` has `clusterApi`",
  clusterProfile: "`operator.multiCluster.providers` has `clusterProfile`",
  copies: "`operator.copyTarget.enabled` is on, and sessions have agents here",
  ephemeralAgents: "`agent.extraConfig.ephemeral` is on, and sessions have agents here",
  hasBranches: "branches are made or ordered here",
  literalCredentials: "`operator.dbBranchingLiteralCredentials` is on",
  memberAccount: "a primary uses the member's account and no group",
  mongodbBranching: "`operator.mongodbBranching` is on",
  mysqlBranching: "`operator.mysqlBranching` is on",
  openshift: "`openshift` is on",
  orderedBranches: "an engine is on, and this is a primary of which another cluster is the default",
  ownCertificate: "the operator keeps its own serving certificate",
  people: "`operator.outbound.proxy.groups` is not empty, and this member dials its primary",
  pgBranching: "`operator.pgBranching` is on",
  previews: "`operator.previewEnv` is on",
  primary: "`operator.multiCluster.enabled` is on",
  publishedWidth: "`rbac.publishedWidth` is on, and this is a member",
  renewsTokens: "a cluster's `authType` is `bearerToken`",
  servedEngine: "one of these engines is on whose branches are made",
  splitting: "a value `operator.*Splitting` is on",
  sqsSplitting: "`operator.sqsSplitting` is on",
  workloads: "sessions have agents here, as everywhere but on a primary that only manages sessions"
}

const row = ({ group, name, resource, scope, verbs, when = [], whileOn, without }: Right): ReadonlyArray<string> => [
  code(group === "" ? resource : `${resource}.${group}`) + (name === undefined ? "" : ` named ${code(name)}`),
  verbs.join(", "),
  scopes[scope],
  [...when, ...(whileOn === undefined ? [] : [whileOn.value])].map(code).join(", ") || "always",
  without
]

const section = (holder: RightHolder): ReadonlyArray<string> => [
  `## ${holders[holder][0]}`,
  holders[holder][1],
  table(["resource", "verbs", "in", "when", "without it"], rightsOf(holder).map(row))
]

export const rights: Page = {
  file: "rights.md",
  title: "Rights",
  source: "the cards of rights, src/domain/*/rights.ts",
  body: [
    "The rights on the Kubernetes API that the chart gives, by their holders. `braid doctor` asks API servers for " +
      "those of the operator and of a primary on a member. Where several conditions stand together, all have to " +
      "hold; a value of the chart means that it is on.",
    ...rightHolders.flatMap(section),
    "## Conditions",
    table(
      ["condition", "means"],
      Object.entries(conditions).map(([name, words]) => [code(name), words])
    )
  ]
}

/**
 * The rights that an operator needs, as data: in its own cluster by its role, and on a member as the primary's
 * identity.
 *
 * Not here: asking the API server for them (app/commands/doctor/ask-rights.ts) and judging the answers
 * (examine-rights.ts).
 */

import { branchKinds } from "../../branches/branch-kinds.ts"
import type { Role } from "../../fleet/roles.ts"
import type { BranchEngine } from "../../resources/chart-switches.ts"
import { operatorGroup } from "../../resources/operator-api.ts"

/** Where a right is needed: in the whole cluster, or in one namespace. */
export type RightScope = "cluster" | "operator-namespace" | "agent-namespace" | "event-namespace" | "kube-system"

/** A right that an operator needs on one resource. `resource` may name a subresource, `pods/log`. */
export interface NeededRight {
  readonly scope: RightScope
  readonly group: string
  readonly resource: string
  readonly verbs: ReadonlyArray<string>
  /** The only object that the right is for; missing: all objects. */
  readonly name?: string
  /** The loss without the right: the rest of a sentence after "without it". */
  readonly without: string
}

/** Parts of an installation that need rights of their own. */
export interface InstalledParts {
  /** The operator keeps its own serving certificate. */
  readonly ownCertificate: boolean
  /** It keeps a key towards agents, which speak TLS. */
  readonly agentTls: boolean
  /** Agents are ephemeral containers of targets' pods. */
  readonly ephemeralAgents: boolean
  /** Nodes are asked for room before an agent is made. */
  readonly asksNodes: boolean
  /** The replicas of a primary share its members. */
  readonly sharding: boolean
  /** Targets are copied. */
  readonly copies: boolean
  /** The engines whose databases have branches. */
  readonly branching: ReadonlyArray<BranchEngine>
}

/** An installation of which nothing is known: as the chart makes it without values. */
export const noParts: InstalledParts = {
  ownCertificate: false,
  agentTls: false,
  ephemeralAgents: false,
  asksNodes: false,
  sharding: false,
  copies: true,
  branching: []
}

const sessions = "mirrord.metalbear.co"
const policies = "policies.mirrord.metalbear.co"

const noPolicies = "it is not known what sessions may not do, and none is served"
const noTls = "it is not known which ports of targets serve TLS, and no session is served"
const noList = "`kubectl get targets` fails"
const noTarget = "targets of that kind are not found"

/** Rights of an operator whose cluster has workloads. */
const workloads: ReadonlyArray<NeededRight> = [
  {
    scope: "operator-namespace",
    group: "coordination.k8s.io",
    resource: "leases",
    verbs: ["get"],
    name: "mirrord-operator-primary",
    without: "it is not known which primary this cluster serves, and no second one is noticed"
  },
  {
    scope: "cluster",
    group: "",
    resource: "namespaces",
    verbs: ["get"],
    without: "a namespace under a session over many clusters is not deleted before that session ends"
  },
  { scope: "cluster", group: "", resource: "pods", verbs: ["get", "list"], without: "no target's pods are found" },
  {
    scope: "cluster",
    group: "",
    resource: "pods",
    verbs: ["watch"],
    without: "new pods of a target are taken in up to 30 s later, and no copy and no branch is followed"
  },
  { scope: "cluster", group: "", resource: "services", verbs: ["get"], without: noTarget },
  { scope: "cluster", group: "apps", resource: "deployments", verbs: ["get"], without: noTarget },
  { scope: "cluster", group: "apps", resource: "replicasets", verbs: ["get"], without: noTarget },
  { scope: "cluster", group: "apps", resource: "statefulsets", verbs: ["get"], without: noTarget },
  { scope: "cluster", group: "argoproj.io", resource: "rollouts", verbs: ["get"], without: noTarget },
  { scope: "cluster", group: "", resource: "services", verbs: ["list"], without: noList },
  { scope: "cluster", group: "apps", resource: "replicasets", verbs: ["list"], without: noList },
  { scope: "cluster", group: "batch", resource: "jobs", verbs: ["list"], without: noList },
  { scope: "cluster", group: "batch", resource: "cronjobs", verbs: ["list"], without: noList },
  {
    scope: "cluster",
    group: sessions,
    resource: "mirrordtlsstealconfigs",
    verbs: ["list", "watch"],
    without: noTls
  },
  {
    scope: "cluster",
    group: sessions,
    resource: "mirrordclustertlsstealconfigs",
    verbs: ["list", "watch"],
    without: noTls
  },
  {
    scope: "cluster",
    group: sessions,
    resource: "mirrordclustersessions",
    verbs: ["create"],
    without: "no session is served here"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "configmaps",
    verbs: ["get"],
    name: "mirrord-operator-stopped-sessions",
    without: "no session of this cluster alone can be started or stopped"
  }
]

/** Rights of an operator whose agents are Jobs. */
const agentsAsJobs: ReadonlyArray<NeededRight> = [
  {
    scope: "agent-namespace",
    group: "batch",
    resource: "jobs",
    verbs: ["get", "create", "patch", "delete"],
    without: "no agent can be started"
  },
  {
    scope: "agent-namespace",
    group: "",
    resource: "events",
    verbs: ["list"],
    without: "nobody is told why an agent does not start, such as a quota or Pod Security"
  }
]

/** Rights of an operator whose agents are ephemeral containers. */
const agentsAsEphemeralContainers: ReadonlyArray<NeededRight> = [
  {
    scope: "cluster",
    group: "",
    resource: "pods/ephemeralcontainers",
    verbs: ["update"],
    without: "no agent can be started"
  },
  {
    scope: "agent-namespace",
    group: "batch",
    resource: "jobs",
    verbs: ["get", "delete"],
    without: "no agent can be started, since one of earlier settings might run beside it"
  }
]

/** Right of an operator that asks nodes for room. */
const askingNodes: NeededRight = {
  scope: "cluster",
  group: "",
  resource: "nodes",
  verbs: ["get"],
  without: "no node is known to be full, and the scheduler finds out"
}

const noCopies = "no copy of a target is made, so jobs and cronjobs are no targets"
const noScaleDown = "no copy can replace a workload of that kind, and none gets its pods back"

const makingPods = (without: string): NeededRight => ({
  scope: "cluster",
  group: "",
  resource: "pods",
  verbs: ["create", "delete"],
  without
})

/** Rights for copies of targets, which operators of clusters with workloads make. */
const copies: ReadonlyArray<NeededRight> = [
  makingPods(noCopies),
  { scope: "cluster", group: "batch", resource: "jobs", verbs: ["get"], without: noCopies },
  { scope: "cluster", group: "batch", resource: "cronjobs", verbs: ["get"], without: noCopies },
  { scope: "cluster", group: "apps", resource: "deployments", verbs: ["list", "patch"], without: noScaleDown },
  { scope: "cluster", group: "apps", resource: "statefulsets", verbs: ["list", "patch"], without: noScaleDown },
  { scope: "cluster", group: "argoproj.io", resource: "rollouts", verbs: ["list", "patch"], without: noScaleDown }
]

/** Each kind of branches that a cluster with these engines has. */
const ofBranchKinds = (
  engines: ReadonlyArray<BranchEngine>,
  right: Omit<NeededRight, "scope" | "group" | "resource">,
  subresource = ""
): ReadonlyArray<NeededRight> =>
  branchKinds(engines).map(({ resource: { group, plural } }) => ({
    scope: "cluster",
    group,
    resource: plural + subresource,
    ...right
  }))

const followingBranches = (engines: ReadonlyArray<BranchEngine>, without: string): ReadonlyArray<NeededRight> => [
  ...ofBranchKinds(engines, { verbs: ["get", "list", "watch", "delete"], without }),
  ...ofBranchKinds(engines, { verbs: ["patch"], without }, "/status")
]

const noBranches = "no branch of a database is made"

/** Rights of an operator that makes branches of databases. */
const branches = (engines: ReadonlyArray<BranchEngine>): ReadonlyArray<NeededRight> => [
  makingPods(noBranches),
  ...followingBranches(engines, noBranches),
  { scope: "cluster", group: "", resource: "secrets", verbs: ["get", "create"], without: noBranches },
  {
    scope: "cluster",
    group: "batch",
    resource: "jobs",
    verbs: ["watch", "create", "delete"],
    without: "no branch of a database is migrated"
  },
  {
    scope: "cluster",
    group: "",
    resource: "configmaps",
    verbs: ["get", "create", "delete"],
    without: "no branch of a database is migrated by Flyway"
  },
  {
    scope: "cluster",
    group: "",
    resource: "events",
    verbs: ["list"],
    without: "nobody learns why the pod of migrations cannot be made"
  },
  {
    scope: "cluster",
    group: "",
    resource: "events",
    verbs: ["create"],
    without: "kubectl describe tells nothing of what happened to a branch"
  }
]

const noOrders = "no branch of a database is made for sessions over many clusters"

/** Rights of a primary, in its own cluster, whose sessions have their databases in another one. */
const orderedBranches = (engines: ReadonlyArray<BranchEngine>): ReadonlyArray<NeededRight> => [
  ...followingBranches(engines, noOrders),
  {
    scope: "cluster",
    group: "",
    resource: "events",
    verbs: ["create"],
    without: "kubectl describe tells nothing of what happened to a branch"
  }
]

/** Rights of every operator, whatever its role. */
const everyOperator: ReadonlyArray<NeededRight> = [
  {
    scope: "cluster",
    group: "",
    resource: "namespaces",
    verbs: ["get"],
    name: "kube-system",
    without: "this cluster's operator does not know its own cluster among others"
  },
  {
    scope: "cluster",
    group: "authorization.k8s.io",
    resource: "subjectaccessreviews",
    verbs: ["create"],
    without: "no primary can attach to a session here"
  },
  {
    scope: "cluster",
    group: policies,
    resource: "mirrordpolicies",
    verbs: ["list", "watch"],
    without: noPolicies
  },
  {
    scope: "cluster",
    group: policies,
    resource: "mirrordclusterpolicies",
    verbs: ["list", "watch"],
    without: noPolicies
  },
  {
    scope: "cluster",
    group: sessions,
    resource: "mirrordclustersessions",
    verbs: ["get", "list", "watch", "delete"],
    without: "no session is served or ended here"
  },
  {
    scope: "cluster",
    group: sessions,
    resource: "mirrordclustersessions/status",
    verbs: ["patch"],
    without: "no session here becomes ready"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "secrets",
    verbs: ["get"],
    name: "mirrord-operator-user-authority",
    without: "no user gets a certificate"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "secrets",
    verbs: ["create"],
    without: "no user gets a certificate"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "configmaps",
    verbs: ["create"],
    without: "no session can be stopped"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "configmaps",
    verbs: ["patch"],
    name: "mirrord-operator-stopped-sessions",
    without: "no session can be stopped"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "configmaps",
    verbs: ["get", "patch"],
    name: "mirrord-operator-users",
    without: "users per day and month are counted since the operator began to lead"
  },
  {
    scope: "event-namespace",
    group: "",
    resource: "events",
    verbs: ["create", "patch"],
    without: "kubectl describe tells nothing of what happened to a session"
  },
  {
    scope: "operator-namespace",
    group: "coordination.k8s.io",
    resource: "leases",
    verbs: ["create"],
    without: "no leader is elected, and nothing is served"
  },
  {
    scope: "operator-namespace",
    group: "coordination.k8s.io",
    resource: "leases",
    verbs: ["get", "patch"],
    name: "mirrord-operator",
    without: "no leader is elected, and nothing is served"
  },
  {
    scope: "operator-namespace",
    group: "coordination.k8s.io",
    resource: "leases",
    verbs: ["watch"],
    name: "mirrord-operator",
    without: "who stands by leads up to seconds later than it could"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "pods",
    verbs: ["list", "patch"],
    without: "the leader's pod gets no label, and no request finds it"
  },
  {
    scope: "kube-system",
    group: "",
    resource: "configmaps",
    verbs: ["list", "watch"],
    name: "extension-apiserver-authentication",
    without: "every request is refused, since the API server's front proxy is not known"
  }
]

const notTrusted = "the API server does not trust the operator's certificate, and passes no request on"

/** Rights of an operator that keeps its own serving certificate. */
const keepingACertificate: ReadonlyArray<NeededRight> = [
  {
    scope: "operator-namespace",
    group: "",
    resource: "secrets",
    verbs: ["get", "patch"],
    name: "mirrord-operator-serving",
    without: notTrusted
  },
  {
    scope: "cluster",
    group: "apiregistration.k8s.io",
    resource: "apiservices",
    verbs: ["get", "patch"],
    name: "v1.operator.metalbear.co",
    without: notTrusted
  }
]

/** Right of an operator whose agents speak TLS. */
const keepingAKey: ReadonlyArray<NeededRight> = [
  {
    scope: "operator-namespace",
    group: "",
    resource: "secrets",
    verbs: ["get"],
    name: "mirrord-operator-agent-tls",
    without: "no agent can be started"
  }
]

/** Asking the operator of a cluster through its API server, and connecting to it. */
const reachingAnOperator: ReadonlyArray<NeededRight> = [
  {
    scope: "cluster",
    group: operatorGroup,
    resource: "mirrordoperators",
    verbs: ["get"],
    without: "the cluster counts as lost"
  },
  {
    scope: "cluster",
    group: operatorGroup,
    resource: "targets",
    verbs: ["proxy"],
    without: "no session can be attached to"
  },
  {
    scope: "cluster",
    group: operatorGroup,
    resource: "targets",
    verbs: ["get", "list"],
    without: "its targets are not told, if it is the default cluster"
  },
  {
    scope: "cluster",
    group: operatorGroup,
    resource: "copytargets",
    verbs: ["list", "create"],
    without: "no copy of a target is made there, and sessions over many clusters on jobs and cronjobs go without it"
  }
]

/** Further rights of a primary. */
/** Rights of a primary whose replicas share its members. */
const sharingMembers: ReadonlyArray<NeededRight> = [
  {
    scope: "operator-namespace",
    group: "coordination.k8s.io",
    resource: "leases",
    verbs: ["get", "list", "watch", "patch", "delete"],
    without: "no replica owns a cluster, and no cluster is used"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "configmaps",
    verbs: ["get", "patch", "delete"],
    without: "the leader does not hear of the clusters that other replicas watch"
  }
]

const primaryOperator: ReadonlyArray<NeededRight> = [
  {
    scope: "cluster",
    group: operatorGroup,
    resource: "mirrordmulticlustersessions",
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    without: "no session over several clusters is served"
  },
  {
    scope: "cluster",
    group: operatorGroup,
    resource: "mirrordmulticlustersessions/status",
    verbs: ["patch"],
    without: "no session over several clusters becomes ready"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "secrets",
    verbs: ["list", "watch"],
    without: "members' credentials are not seen"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "configmaps",
    verbs: ["list", "watch"],
    without: "sessions that a lost cluster still has to end are forgotten"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "configmaps",
    verbs: ["patch"],
    name: "mirrord-operator-debts",
    without: "sessions that a lost cluster still has to end are forgotten"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "configmaps",
    verbs: ["get", "patch"],
    name: "mirrord-operator-cluster-identities",
    without: "it is forgotten with the process which cluster each name stands for"
  },
  ...reachingAnOperator
]

/** Rights of an operator whose cluster has sessions with pods. */
const ofWorkloads = (
  role: Role,
  { agentTls, asksNodes, branching, copies: makesCopies, ephemeralAgents }: InstalledParts
): ReadonlyArray<NeededRight> => {
  const hasDatabases = role._tag !== "Primary" || role.isDefault
  return [
    ...workloads,
    ...(ephemeralAgents ? agentsAsEphemeralContainers : agentsAsJobs),
    ...(asksNodes && !ephemeralAgents ? [askingNodes] : []),
    ...(agentTls ? keepingAKey : []),
    ...(makesCopies ? copies : []),
    ...(branching.length > 0 && hasDatabases ? branches(branching) : [])
  ]
}

/**
 * All that an operator does in its own cluster. The chart grants exactly this; test/charts/needed-rights.test.ts
 * compares both ways.
 */
export const ownRights = (role: Role, parts: InstalledParts): ReadonlyArray<NeededRight> => {
  const hasAgents = role._tag !== "Primary" || !role.managementOnly
  const isElsewhere = role._tag === "Primary" && !role.isDefault
  return [
    ...everyOperator,
    ...(parts.ownCertificate ? keepingACertificate : []),
    ...(hasAgents ? ofWorkloads(role, parts) : []),
    ...(isElsewhere && parts.branching.length > 0 ? orderedBranches(parts.branching) : []),
    ...(role._tag === "Primary" ? [...primaryOperator, ...(parts.sharding ? sharingMembers : [])] : [])
  ]
}

/** All that a primary's identity does on a member. */
export const memberRights: ReadonlyArray<NeededRight> = [
  ...reachingAnOperator,
  {
    scope: "cluster",
    group: "",
    resource: "namespaces",
    verbs: ["get"],
    name: "kube-system",
    without: "the cluster's identity is not known, and another cluster in its place is not noticed"
  },
  {
    scope: "cluster",
    group: sessions,
    resource: "mirrordclustersessions",
    verbs: ["get", "list", "watch", "create", "delete"],
    without: "no session is made in this cluster"
  },
  {
    scope: "cluster",
    group: operatorGroup,
    resource: "sessions",
    verbs: ["delete"],
    without: "sessions that users began in this cluster cannot be stopped from the primary"
  }
]

/** The same at its default cluster, if databases have branches. */
export const defaultClusterRights = (engines: ReadonlyArray<BranchEngine>): ReadonlyArray<NeededRight> =>
  engines.length === 0
    ? []
    : [
        ...ofBranchKinds(engines, { verbs: ["get", "list", "watch", "create", "patch", "delete"], without: noOrders }),
        {
          scope: "cluster",
          group: operatorGroup,
          resource: "branchcredentials",
          verbs: ["create"],
          without: "no branch is made for sessions over many clusters whose connection has values of the client's own"
        }
      ]

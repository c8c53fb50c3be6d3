import type { Role } from "../fleet/roles.ts"

/** Where a right is needed: in the whole cluster, or in one namespace. */
export type RightScope = "cluster" | "operator-namespace" | "agent-namespace" | "event-namespace" | "kube-system"

/** What an operator must be allowed to do with one resource. `resource` may name a subresource, `pods/log`. */
export interface NeededRight {
  readonly scope: RightScope
  readonly group: string
  readonly resource: string
  readonly verbs: ReadonlyArray<string>
  /** The only object that is meant; missing: any. */
  readonly name?: string
  /** What is impossible without it, after "without it". */
  readonly without: string
}

const sessions = "mirrord.metalbear.co"
const operators = "operator.metalbear.co"

const right = (
  scope: RightScope,
  group: string,
  resource: string,
  verbs: string,
  without: string,
  name?: string
): NeededRight => ({
  scope,
  group,
  resource,
  verbs: verbs.split(" "),
  ...(name === undefined ? {} : { name }),
  without
})

const noTarget = "targets of that kind are not found"
/** Of an operator whose cluster has workloads. */
const workloads: ReadonlyArray<NeededRight> = [
  right("cluster", "", "pods", "get list", "no target's pods are found"),
  right("cluster", "", "services", "get", noTarget),
  right("cluster", "apps", "deployments", "get", noTarget),
  right("cluster", "apps", "replicasets", "get", noTarget),
  right("cluster", "apps", "statefulsets", "get", noTarget),
  right("cluster", "argoproj.io", "rollouts", "get", noTarget),
  right("cluster", sessions, "mirrordclustersessions", "create", "no session is served here"),
  right("agent-namespace", "batch", "jobs", "get create patch delete", "no agent can be started")
]

const everyOperator: ReadonlyArray<NeededRight> = [
  right("cluster", "authorization.k8s.io", "subjectaccessreviews", "create", "no primary can attach to a session here"),
  right("cluster", sessions, "mirrordclustersessions", "get list watch delete", "no session is served or ended here"),
  right("cluster", sessions, "mirrordclustersessions/status", "patch", "no session here becomes ready"),
  right("operator-namespace", "", "secrets", "get", "no user gets a certificate", "mirrord-operator-user-authority"),
  right("operator-namespace", "", "secrets", "create", "no user gets a certificate"),
  right(
    "event-namespace",
    "",
    "events",
    "create patch",
    "kubectl describe tells nothing of what happened to a session"
  ),
  right("operator-namespace", "coordination.k8s.io", "leases", "create", "no leader is elected, and nothing is served"),
  right(
    "operator-namespace",
    "coordination.k8s.io",
    "leases",
    "get patch",
    "no leader is elected, and nothing is served",
    "mirrord-operator"
  ),
  right(
    "operator-namespace",
    "coordination.k8s.io",
    "leases",
    "watch",
    "who stands by leads up to seconds later than it could",
    "mirrord-operator"
  ),
  right("operator-namespace", "", "pods", "list patch", "the leader's pod gets no label, and no request finds it"),
  right(
    "kube-system",
    "",
    "configmaps",
    "list watch",
    "every request is refused, since the API server's front proxy is not known",
    "extension-apiserver-authentication"
  )
]

/** Asking the operator of a cluster through its API server, and connecting to it. */
const reachingAnOperator: ReadonlyArray<NeededRight> = [
  right("cluster", operators, "mirrordoperators", "get", "the cluster counts as lost"),
  right("cluster", operators, "targets", "proxy", "no session can be attached to")
]

const primaryOperator: ReadonlyArray<NeededRight> = [
  right(
    "cluster",
    operators,
    "mirrordmulticlustersessions",
    "get list watch create patch delete",
    "no session over several clusters is served"
  ),
  right(
    "cluster",
    operators,
    "mirrordmulticlustersessions/status",
    "patch",
    "no session over several clusters becomes ready"
  ),
  right("operator-namespace", "", "secrets", "list watch", "members' credentials are not seen"),
  right(
    "operator-namespace",
    "",
    "configmaps",
    "list watch create",
    "sessions that a lost cluster still has to end are forgotten"
  ),
  right(
    "operator-namespace",
    "",
    "configmaps",
    "patch",
    "sessions that a lost cluster still has to end are forgotten",
    "mirrord-operator-debts"
  ),
  ...reachingAnOperator
]

/**
 * All that an operator does in its own cluster. The chart grants exactly this; test/charts/needed-rights.test.ts
 * compares both ways.
 */
export const ownRights = (role: Role): ReadonlyArray<NeededRight> => [
  ...everyOperator,
  ...(role._tag === "Primary" && role.managementOnly ? [] : workloads),
  ...(role._tag === "Primary" ? primaryOperator : [])
]

/** All that a primary's identity does on a member. */
export const memberRights: ReadonlyArray<NeededRight> = [
  ...reachingAnOperator,
  right(
    "cluster",
    sessions,
    "mirrordclustersessions",
    "get list watch create delete",
    "no session is made in this cluster"
  )
]

/**
 * Every condition that an operator sets on an object, with its reasons; docs/reference/conditions.md is made from it.
 *
 * Not here: when a condition holds, which the room of its object decides.
 */

export interface ConditionRow {
  readonly on: "MirrordMultiClusterSession" | "MirrordClusterSession" | "MirrordOperator" | "MirrordCluster"
  readonly type: string
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly means: string
}

const parent = "MirrordMultiClusterSession"
const child = "MirrordClusterSession"
const operator = "MirrordOperator"
const cluster = "MirrordCluster"

/** The conditions in the order of the reference page: by object, then by condition. */
export const conditionCatalogue: ReadonlyArray<ConditionRow> = [
  {
    on: parent,
    type: "Ready",
    status: "True",
    reason: "Ready",
    means: "clients are served; the message counts the clusters"
  },
  { on: parent, type: "Ready", status: "False", reason: "Pending", means: "clusters are being prepared" },
  {
    on: parent,
    type: "Ready",
    status: "False",
    reason: "DefaultNotReady",
    means: "it was ready, but its default cluster is away; clients that come back wait"
  },
  { on: parent, type: "Ready", status: "False", reason: "Failed", means: "see `Failed`" },
  { on: parent, type: "Ready", status: "False", reason: "Terminating", means: "it is being deleted" },
  {
    on: parent,
    type: "DefaultReady",
    status: "True",
    reason: "AgentsUsable",
    means: "the default cluster can be used"
  },
  { on: parent, type: "DefaultReady", status: "False", reason: "NotReady", means: "it cannot; the message says why" },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "NoSuchTarget",
    means: "the target, or its container, does not exist"
  },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "UnusableTarget",
    means: "the target exists and cannot be one as it is"
  },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "TargetNotReady",
    means: "the target has no pod that can be used"
  },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "Forbidden",
    means: "the user or an operator may not do what the session needs"
  },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "NoPods",
    means: "the target of a running session has had no pods in the default cluster for too long"
  },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "CopyEnded",
    means: "the pod of the session's copy in the default cluster has ended, or is deleted"
  },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "QueuesNotSplit",
    means: "the queues that the session asks for are not split in a cluster that is needed"
  },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "NotAllowed",
    means: "the target's namespace is protected, a bound is reached, or an ephemeral agent has no target"
  },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "OtherPrimary",
    means: "a cluster that is needed serves another primary"
  },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "TimedOut",
    means: "a cluster that is needed was not ready in time"
  },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "ClusterLost",
    means: "a cluster that is needed cannot be reached"
  },
  {
    on: parent,
    type: "Failed",
    status: "True",
    reason: "DefaultLost",
    means: "the default cluster of a running session stayed away"
  },
  { on: parent, type: "Failed", status: "True", reason: "Error", means: "anything else; the message says what" },
  { on: child, type: "Ready", status: "True", reason: "AgentUsable", means: "the agents are ready for clients" },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "Starting",
    means: "the target is looked for, or the agents start"
  },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "AgentSilent",
    means: "the agent does not answer; if that lasts, it is replaced"
  },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "NoSuchTarget",
    means: "the target, or its container, does not exist here; it is looked for again"
  },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "UnusableTarget",
    means: "the target exists and cannot be one as it is; it is looked for again"
  },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "TargetNotReady",
    means: "the target has no pod that can be used; it is looked for again"
  },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "NoPods",
    means: "the target had pods, and has had none for longer than a session waits"
  },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "CopyEnded",
    means: "the pod of the session's copy has ended, or is deleted; the message says why"
  },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "QueuesNotSplit",
    means: "the queues that the session asks for are not split, or not any more; the message says why"
  },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "Forbidden",
    means: "the operator may not look up the target here"
  },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "NotAllowed",
    means: "the target's namespace is protected here, a bound of agents is reached, or an ephemeral agent has no target"
  },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "OtherPrimary",
    means: "this cluster serves another primary, or wants to know which one asks; it is looked up again"
  },
  {
    on: child,
    type: "Ready",
    status: "False",
    reason: "Error",
    means: "anything else, such as no agent; the message says what, and it is tried again"
  },
  {
    on: operator,
    type: "ConfigurationInUse",
    status: "True",
    reason: "InUse",
    means: "a primary runs with the configuration of its files"
  },
  {
    on: operator,
    type: "ConfigurationInUse",
    status: "False",
    reason: "Refused",
    means: "its changed files cannot be used, the last good ones are; the message says why"
  },
  {
    on: operator,
    type: "FoundClustersInUse",
    status: "True",
    reason: "InUse",
    means: "all clusters that a primary has found by their kubeconfigs are in its fleet"
  },
  {
    on: operator,
    type: "FoundClustersInUse",
    status: "False",
    reason: "NotUsed",
    means:
      "a cluster that was found has a name that is taken or none, or a file of kubeconfigs cannot be used; the " +
      "message says which, and what to do"
  },
  {
    on: operator,
    type: "CredentialsLast",
    status: "False",
    reason: "EndsSoon",
    means: "credentials of clusters end soon or have ended, and are not renewed; else it is missing"
  },
  {
    on: cluster,
    type: "Ready",
    status: "True",
    reason: "Connected",
    means: "its operator answers, and its sessions are known"
  },
  {
    on: cluster,
    type: "Ready",
    status: "Unknown",
    reason: "Connecting",
    means: "it has not been checked yet, or checks have failed that do not lose it"
  },
  {
    on: cluster,
    type: "Ready",
    status: "False",
    reason: "Lost",
    means: "it does not answer; sessions go on without it"
  },
  {
    on: cluster,
    type: "Ready",
    status: "False",
    reason: "CredentialsRefused",
    means: "it refuses the primary's credentials, whatever their end; the message names the command that cures it"
  },
  {
    on: cluster,
    type: "Ready",
    status: "False",
    reason: "NotUsable",
    means: "its credentials are missing or unusable, or it is another cluster than its name stands for"
  },
  {
    on: cluster,
    type: "Ready",
    status: "False",
    reason: "RightMissing",
    means: "its API server answers, but this operator may not do there what it has to; the message names the right"
  },
  {
    on: cluster,
    type: "Ready",
    status: "False",
    reason: "SessionsUnreadable",
    means: "its operator answers, but its API server does not tell its sessions"
  },
  {
    on: cluster,
    type: "CredentialsLast",
    status: "False",
    reason: "EndsSoon",
    means: "its credentials end soon or have ended, and are not renewed; else it is missing"
  }
]

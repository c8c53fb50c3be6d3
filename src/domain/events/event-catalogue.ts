/**
 * Every Event that an operator records: its reason, its type and when it is recorded.
 *
 * Not here: when an Event is due, which the files beside this decide.
 */

/** `Warning`: a person may have to act. */
export type EventType = "Normal" | "Warning"

interface Entry {
  readonly type: EventType
  /** Kind of the object for which `kubectl describe` shows the Event. */
  readonly on:
    | "MirrordMultiClusterSession"
    | "MirrordClusterSession"
    | "both"
    | "MirrordOperator"
    | "MirrordCluster"
    | "BranchDatabase"
    | "MirrordClusterSplitSession"
    | "workload"
    | "split configuration"
  /** When the Event is recorded; for docs/reference/events.md. */
  readonly when: string
}

const parent = "MirrordMultiClusterSession"
const child = "MirrordClusterSession"
const operator = "MirrordOperator"
const cluster = "MirrordCluster"
const branch = "BranchDatabase"
const split = "MirrordClusterSplitSession"

/** Every Event that an operator records, by its reason; docs/reference/events.md has the same table. */
export const eventCatalogue = {
  Accepted: { type: "Normal", on: parent, when: "the operator has seen the session and recorded its children" },
  Pending: { type: "Normal", on: parent, when: "the session is in phase `Pending`: its clusters are being prepared" },
  ClusterReady: { type: "Normal", on: parent, when: "a cluster became ready, at first or again" },
  Ready: { type: "Normal", on: parent, when: "the session is in phase `Ready`: clients are served" },
  ClusterLeftOut: {
    type: "Warning",
    on: parent,
    when: "the session goes on without a cluster, or the reason for that is another one now"
  },
  ClusterNotReady: { type: "Warning", on: parent, when: "a cluster that was ready is not, and is waited for" },
  ClusterAwaited: { type: "Normal", on: parent, when: "a cluster that was left out is waited for again" },
  DefaultClusterLost: {
    type: "Warning",
    on: parent,
    when: "the default cluster is not usable, or the reason for that is another one now"
  },
  Terminating: { type: "Normal", on: parent, when: "the session is being deleted, its children first" },
  ChildOwed: {
    type: "Warning",
    on: parent,
    when: "a child could not be deleted in time and stands in the ledger of debts"
  },
  Starting: {
    type: "Normal",
    on: child,
    when: "target and agents are being looked for and started, at first or again"
  },
  AgentReady: { type: "Normal", on: child, when: "the agents are ready for clients" },
  AgentSilent: { type: "Warning", on: child, when: "the agent does not answer; if that lasts, it is replaced" },
  PodLeftOut: {
    type: "Warning",
    on: child,
    when: "a pod of the target gets no agent, since a policy there forbids what the session does"
  },
  NoSuchTarget: { type: "Warning", on: child, when: "the target, or its container, does not exist in this cluster" },
  UnusableTarget: { type: "Warning", on: child, when: "the target exists and cannot be one as it is" },
  TargetNotReady: { type: "Warning", on: child, when: "the target has no pod that can be used" },
  NoPods: { type: "Warning", on: child, when: "the target had pods, and has had none for longer than a session waits" },
  CopyEnded: { type: "Warning", on: child, when: "the pod of the session's copy has ended, or is deleted" },
  Forbidden: { type: "Warning", on: child, when: "the operator may not look up the target, or start agents" },
  NotAllowed: {
    type: "Warning",
    on: child,
    when: "the target's namespace is protected, a bound is reached, or an ephemeral agent has no target"
  },
  OtherPrimary: {
    type: "Warning",
    on: child,
    when: "this cluster serves another primary, or wants to know which primary asks"
  },
  Failed: { type: "Warning", on: "both", when: "the session failed; of a child: a step failed, and is tried again" },
  Expired: {
    type: "Normal",
    on: "both",
    when: "the operator deletes the session itself: no client for the TTL, no pods, its longest time, after a failure"
  },
  FleetChanged: {
    type: "Normal",
    on: operator,
    when: "the primary has taken up other clusters from its configuration"
  },
  ClusterLost: {
    type: "Warning",
    on: cluster,
    when: "a cluster does not answer the primary's checks, or refuses them; sessions go on without it"
  },
  ClusterConnected: { type: "Normal", on: cluster, when: "a cluster that was lost answers again" },
  CredentialsFailed: {
    type: "Warning",
    on: cluster,
    when: "no new credentials for a cluster can be got; the last ones are used until their end"
  },
  CredentialsEnd: {
    type: "Warning",
    on: cluster,
    when: "credentials of a cluster that are not renewed end in 30, 7 or 1 days, or have ended"
  },
  RightMissing: {
    type: "Warning",
    on: cluster,
    when: "the operator may not do in a cluster what it has to; the message names the verb and the resource"
  },
  TokenIgnored: {
    type: "Normal",
    on: cluster,
    when: "a Secret has another token now that is older than the renewed one in use, as Helm's next upgrade writes it"
  },
  TunnelLimited: {
    type: "Warning",
    on: cluster,
    when: "the last three tunnels of a cluster that dials out ended after the same time: something on the way limits it"
  },
  TunnelRefused: {
    type: "Warning",
    on: cluster,
    when:
      "an operator that dialled as this cluster was refused: another one with another key is connected, or its key " +
      "is not admitted"
  },
  CommandRefused: {
    type: "Warning",
    on: cluster,
    when:
      "a cluster that dials out refuses the authorities that its primary sends, since they are older than its own: " +
      "the primary was restored from a backup"
  },
  IdentityRefused: {
    type: "Warning",
    on: cluster,
    when: "another cluster than the pinned one answers under a cluster's name, or two names have one cluster"
  },
  ClusterRefused: {
    type: "Warning",
    on: operator,
    when: "a cluster that was found by its kubeconfig is not in the fleet, because its name is taken or is none"
  },
  ConfigurationRefused: {
    type: "Warning",
    on: operator,
    when: "the changed configuration of the fleet cannot be used; the last good one stays"
  },
  Building: { type: "Normal", on: branch, when: "the branch of a database is being made" },
  BranchReady: { type: "Normal", on: branch, when: "the copy is complete, and the branch's server takes connections" },
  BranchFailed: {
    type: "Warning",
    on: branch,
    when: "the branch cannot be made, or its pod is lost; it is deleted 20 s later"
  },
  BranchCopied: { type: "Normal", on: branch, when: "a primary has a copy of the branch in its default cluster" },
  BranchBorrowed: {
    type: "Normal",
    on: branch,
    when: "the default cluster has a branch of this name already, and a primary's users share it"
  },
  BranchWaits: {
    type: "Warning",
    on: branch,
    when: "the branch cannot be made yet: the default cluster is away, or there is none, or no node takes its pod"
  },
  BranchMigrated: { type: "Normal", on: branch, when: "the migrations that the branch asks for have succeeded" },
  MigrationsFailed: {
    type: "Warning",
    on: branch,
    when: "the migrations that a branch in use asks for have failed; a new branch fails with them"
  },
  ConfigurationNotCopied: {
    type: "Warning",
    on: "split configuration",
    when: "a member does not take the copy of a configuration of queue splits, or has one of its own under the name"
  },
  BranchExpired: { type: "Normal", on: branch, when: "no session has used the branch for its time, and it is deleted" },
  QueuesSplit: { type: "Normal", on: split, when: "the session gets its messages of the workload's queues" },
  QueuesNotSplit: {
    type: "Warning",
    on: split,
    when: "the session cannot have its messages, or its queues cannot be deleted; the message says why"
  },
  QueueSplitProblem: {
    type: "Warning",
    on: "workload",
    when: "something about the split of the workload's queues needs a person, such as messages that are lost"
  }
} as const satisfies Readonly<Record<string, Entry>>

export type EventReason = keyof typeof eventCatalogue

/** One thing that happened to a session, to a branch or to the fleet, for `kubectl describe`. */
export interface SessionEvent {
  readonly reason: EventReason
  /** A sentence or two: cluster, cause, what to do. Never holds a credential. */
  readonly message: string
  /** The one cluster that the Event is about, if there is one. */
  readonly cluster?: string
}

/**
 * The settings of splits of queues. Those of one workload stand in its configuration (split-configuration.ts).
 *
 * Not here: the AWS identity of the operator, which its SDK finds by variables of AWS.
 */

import type { SettingCard } from "../catalogue/setting.ts"

export const queueSettings = {
  splitsSqs: {
    variable: "OPERATOR_SQS_SPLITTING",
    form: "truth",
    default: false,
    value: "operator.sqsSplitting",
    where: "targets",
    about: "whether [queues of Amazon SQS are split](../operating/queues.md); queues of other brokers are not served"
  },
  splitLinger: {
    variable: "OPERATOR_SQS_SPLITTING_LINGER_TIMEOUT",
    form: "millis",
    default: 60_000,
    value: "operator.sqsSplittingLingerTimeout",
    where: "splits",
    isUnsetBy0: true,
    cure: "write for example 120000, or leave it out for 60000",
    about:
      "milliseconds that a workload may take to [empty its main queue](../operating/queues.md#the-end-of-a-split) if " +
      "a `MirrordWorkloadQueueRegistry` describes its queues; a `MirrordSplitConfig` has its own `drainTimeout`"
  },
  splitsWaitForPods: {
    variable: "OPERATOR_QUEUE_SPLITTING_WAIT_FOR_READY_TARGET",
    form: "truth",
    default: true,
    value: "operator.queueSplittingWaitForReadyTarget",
    where: "splits",
    about:
      "whether sessions wait for pods that are ready with the names of temporary queues; otherwise they begin at " +
      "once, while older pods still take messages out of the original"
  },
  isolatesPods: {
    variable: "OPERATOR_ISOLATE_PODS_RESTART",
    form: "truth",
    default: true,
    value: "operator.isolatePodsRestart",
    where: "splits",
    about:
      "whether pods are [taken out of their ReplicaSet](../operating/queues.md#the-pods-of-the-workload) one by one, " +
      "if the configuration has no `restart.strategy`; otherwise the workload is restarted as a whole"
  },
  sharesQueues: {
    variable: "OPERATOR_SQS_SPLITTING_SHARDING",
    form: "truth",
    default: false,
    value: "operator.sqsSplittingSharding",
    where: "splits",
    about:
      "`true` lets the replicas [share the queues](../operating/queues.md#replicas-that-share-the-queues) whose " +
      "messages are forwarded; otherwise the leader forwards all of them"
  }
} as const satisfies SettingCard

/** The settings of an operator that splits queues. */
export interface SplitSettings {
  /** Seconds that a workload may take to empty its main queues, if a registry describes them. */
  readonly lingerSeconds: number
  /** Whether pods are isolated one by one where the configuration does not say how they are replaced. */
  readonly isolatesPods: boolean
  /** Whether sessions wait for pods that are ready with the names of temporary queues. */
  readonly waitsForPods: boolean
}

/**
 * Every metric of the operator: its name, its labels and its meaning. Labels are bounded by the program and by the
 * configuration: no label names a user, a session, a pod or anything else that a client chooses, but for one published
 * metric of queues, whose users are bounded. Names that begin with `mirrord_` are the published operator's; `process_`
 * and `nodejs_` are those of Prometheus' own libraries.
 *
 * Not here: where the values are from (app/kernel/metrics.ts), and the form in which they are read (app/metrics).
 */

export interface MetricFamily {
  readonly type: "counter" | "gauge" | "histogram"
  readonly labels: ReadonlyArray<string>
  readonly help: string
  /** Of a histogram: the upper bounds of its buckets, in seconds. */
  readonly buckets?: ReadonlyArray<number>
}

/** For durations of sessions: a minute to a day. */
const sessionBuckets: ReadonlyArray<number> = [60, 300, 900, 3_600, 14_400, 28_800, 86_400]
/** For the time that a message spends here: 50 microseconds to the ten seconds for which a slow peer is waited for. */
const latencyBuckets: ReadonlyArray<number> = [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.005, 0.025, 0.1, 1, 10]

export const metricCatalogue = {
  mirrord_sessions_create_total: {
    type: "counter",
    labels: [],
    help: "Sessions that users began, those of CI among them."
  },
  mirrord_sessions_duration: {
    type: "histogram",
    labels: [],
    help: "Seconds from the beginning of a user's session to its end, those of CI among them.",
    buckets: sessionBuckets
  },
  mirrord_ci_sessions_create_total: { type: "counter", labels: [], help: "Sessions that were begun in a CI run." },
  mirrord_ci_sessions_duration: {
    type: "histogram",
    labels: [],
    help: "Seconds from the beginning of a session of CI to its end.",
    buckets: sessionBuckets
  },
  mirrord_read_sqs_messages_count: {
    type: "counter",
    labels: ["original_queue"],
    help: "Messages that were received of a queue that is split, by its URL; those that came again count again."
  },
  mirrord_unmatched_sqs_messages_count: {
    type: "counter",
    labels: ["original_queue"],
    help: "Messages of them that no session wanted."
  },
  mirrord_sqs_messages_forwarded_to_user_count: {
    type: "counter",
    labels: ["k8s_user", "local_username", "original_queue"],
    help: "Messages that were sent to the sessions of a user. Of one queue 200 users are told apart."
  },
  braid_queue_splits: { type: "gauge", labels: ["phase"], help: "Workloads whose queues are split, by phase." },
  braid_queue_split_sessions: {
    type: "gauge",
    labels: ["phase"],
    help: "Parts of sessions in splits of queues, by phase."
  },
  braid_queue_calls_total: {
    type: "counter",
    labels: ["original_queue"],
    help: "Calls to SQS that receive, send and delete the messages of a queue that is split."
  },
  braid_queue_throttles_total: {
    type: "counter",
    labels: ["original_queue"],
    help: "Calls of them that SQS refused because there were too many."
  },
  braid_queue_failing: {
    type: "gauge",
    labels: ["original_queue"],
    help: "Queues that fail now: the one that is split, and those that its messages go to."
  },
  braid_main_queue_messages: {
    type: "gauge",
    labels: ["original_queue"],
    help: "Messages in the workload's main queue as last counted, which is rarely but at the split's end."
  },
  braid_build_info: { type: "gauge", labels: ["version"], help: "Always 1; the label is the operator's version." },
  braid_leader: { type: "gauge", labels: [], help: "1 while this replica leads and serves sessions, else 0." },
  braid_sessions: {
    type: "gauge",
    labels: ["kind", "phase"],
    help: "Sessions by phase: over many clusters, in this cluster alone, and the parts here of those over many."
  },
  braid_debts: {
    type: "gauge",
    labels: [],
    help: "Parts of sessions that have ended which are still to be deleted in other clusters."
  },
  braid_session_acts_total: {
    type: "counter",
    labels: ["act"],
    help: "Lines of the audit log: what was done with sessions and copies of targets."
  },
  braid_connects_refused_total: {
    type: "counter",
    labels: ["code"],
    help: "Refused connects and copies, by HTTP status: 4xx is the user's to mend, 5xx the operator's."
  },
  braid_unknown_connect_parameters_total: {
    type: "counter",
    labels: [],
    help: "Connects with parameters that this operator does not know, as newer clients send; some are refused for them."
  },
  braid_messages_total: {
    type: "counter",
    labels: ["from"],
    help: "Protocol messages that were received, from clients and from members (clusters or agents)."
  },
  braid_message_bytes_total: {
    type: "counter",
    labels: ["from"],
    help: "Bytes of the protocol messages that were received."
  },
  braid_dropped_messages_total: {
    type: "counter",
    labels: ["reason"],
    help: "Protocol messages that were dropped instead of being forwarded, by reason."
  },
  braid_added_latency_seconds: {
    type: "histogram",
    labels: ["from"],
    help:
      "Seconds from the read of messages until the network took them on the other side, by their sender; one read in " +
      "16 is measured.",
    buckets: latencyBuckets
  },
  braid_links_opened_total: {
    type: "counter",
    labels: ["to"],
    help: "Connections to members (clusters or agents) that were put to use, those after a loss among them."
  },
  braid_links_lost_total: {
    type: "counter",
    labels: ["to"],
    help: "Connections to members that were lost while their session went on."
  },
  braid_cluster_connected: {
    type: "gauge",
    labels: ["cluster"],
    help: "1 while the cluster answers its checks, else 0."
  },
  braid_cluster_probe_age_seconds: {
    type: "gauge",
    labels: ["cluster"],
    help: "Seconds since the last check of the cluster ended; missing before the first."
  },
  braid_cluster_probe_duration_seconds: {
    type: "gauge",
    labels: ["cluster"],
    help: "How long the last check of the cluster took; missing before the first."
  },
  braid_cluster_unreadable_seconds: {
    type: "gauge",
    labels: ["cluster"],
    help: "For how long the cluster's sessions cannot be read by list and watch; 0 while they can."
  },
  braid_cluster_credential_expiry_seconds: {
    type: "gauge",
    labels: ["cluster", "auth", "renewal"],
    help:
      "Seconds until the credentials in use end, below 0 after it; missing if they have no known end. Renewal: by " +
      "the operator, later by people, or due."
  },
  braid_cluster_credential_failures: {
    type: "gauge",
    labels: ["cluster"],
    help: "Tries in a row that brought no new credentials; 0 when the last one did."
  },
  braid_people_requests_total: {
    type: "counter",
    labels: ["cluster", "kind", "code"],
    help:
      "Requests of people to a cluster that dials out, when they end: read, watch (logs that are followed among " +
      "them), write, connect (to pods), by HTTP status; 0 where the person or the operator ended it before."
  },
  braid_people_requests: {
    type: "gauge",
    labels: ["cluster"],
    help: "Requests of people to a cluster that dials out that are under way; 100 is the most."
  },
  braid_credential_renewals_total: {
    type: "counter",
    labels: ["outcome"],
    help: "Tries to get new credentials for a cluster, by outcome."
  },
  braid_list_failing_seconds: {
    type: "gauge",
    labels: ["cluster", "resource"],
    help: "For how long the objects of that kind in the cluster cannot be listed and watched; 0 while they can."
  },
  braid_watch_restarts_total: {
    type: "counter",
    labels: ["resource", "cause"],
    help: "Watches that began again: their server had ended them, or list or watch had failed."
  },
  braid_watch_lag_seconds: {
    type: "gauge",
    labels: ["cluster"],
    help:
      "Seconds since the last event, bookmark or list of that watch of the cluster which is silent for longest; a " +
      "server sends a bookmark every minute."
  },
  braid_reconciles_total: {
    type: "counter",
    labels: ["controller", "outcome"],
    help: "Turns of controllers; a turn that failed or met a conflict is repeated."
  },
  braid_spans_dropped_total: {
    type: "counter",
    labels: [],
    help: "Spans of traces that no collector took: it was away or too slow, or refused them."
  },
  braid_event_loop_lag_seconds: {
    type: "gauge",
    labels: ["percentile"],
    help: "How late the program's event loop was in the last 30 seconds or more; 100 is the worst."
  },
  process_resident_memory_bytes: { type: "gauge", labels: [], help: "Memory of the process." },
  process_cpu_seconds_total: { type: "counter", labels: [], help: "CPU time of the process, user and system." },
  process_start_time_seconds: { type: "gauge", labels: [], help: "When the process began, in seconds since 1970." },
  nodejs_heap_size_used_bytes: { type: "gauge", labels: [], help: "Memory that objects of the program take." },
  nodejs_external_memory_bytes: {
    type: "gauge",
    labels: [],
    help: "Memory outside of the heap that the program holds, buffers of messages above all."
  }
} as const satisfies Readonly<Record<string, MetricFamily>>

export type MetricName = keyof typeof metricCatalogue

/** A value for each label of a metric. */
export type MetricLabels<N extends MetricName> = Readonly<Record<(typeof metricCatalogue)[N]["labels"][number], string>>

/** One value of a metric. */
export type Sample = {
  readonly [N in MetricName]: { readonly name: N; readonly labels: MetricLabels<N>; readonly value: number }
}[MetricName]

/**
 * The rights for splits of queues: what describes queues, the records of splits, and the pods of their workloads.
 *
 * Not here: rights on SQS itself, which AWS gives, and those that targets need as well (targets/rights.ts).
 */

import type { Right, RightCard } from "../catalogue/right.ts"
import { queueSettings } from "./settings.ts"

const queueGroup = "queues.mirrord.metalbear.co"
const mirrordGroup = "mirrord.metalbear.co"

const here = (group: string, resource: string, verbs: ReadonlyArray<string>, without: string): Right => ({
  scope: "cluster",
  group,
  resource,
  verbs,
  when: ["workloads"],
  whileOn: queueSettings.splitsSqs,
  without
})

const noSplit = "no queue is split"
const written = ["get", "list", "watch", "create", "patch", "delete"]

const operator: ReadonlyArray<Right> = [
  here(queueGroup, "mirrordsplitconfigs", ["list", "watch"], noSplit),
  here(queueGroup, "mirrordworkloadqueueregistries", ["list", "watch"], noSplit),
  here(mirrordGroup, "mirrordpropertylists", ["get"], "queues with a `queueConfig` are not split"),
  here("", "configmaps", ["get"], "queues are not split if a ConfigMap names them or has their properties"),
  {
    ...here("", "secrets", ["get"], "queues are not split if a Secret beside the operator has their properties"),
    scope: "operator-namespace"
  },
  here(queueGroup, "mirrordclustersplitsessions", ["get", "list", "watch", "create"], noSplit),
  here(queueGroup, "mirrordclustersplitsessions/status", ["patch"], "no session gets its messages"),
  here(mirrordGroup, "mirrordclusterworkloadpatches", written, noSplit),
  here(mirrordGroup, "mirrordclusterexternalresources", written, "no temporary queue is made or deleted"),
  here("admissionregistration.k8s.io", "mutatingwebhookconfigurations", ["get", "create", "patch", "delete"], noSplit),
  {
    ...here("apiregistration.k8s.io", "apiservices", ["get"], "the API server cannot be told how to reach the webhook"),
    name: "v1.operator.metalbear.co"
  },
  {
    ...here("rbac.authorization.k8s.io", "clusterroles", ["get"], "webhooks for pods outlive the operator"),
    name: "mirrord-operator"
  },
  here(mirrordGroup, "mirrordclustersessions", ["patch"], "a primary never learns which queues were made here"),
  here("apps", "deployments", ["patch"], "pods of a Deployment get no temporary queues"),
  here("argoproj.io", "rollouts", ["patch"], "pods of a Rollout get no temporary queues"),
  {
    // Only the two switches together need it, so the first one is a condition.
    ...here("", "pods", ["patch", "delete"], "pods are not isolated, and workloads that want it are not split"),
    when: ["workloads", "sqsSplitting"],
    whileOn: queueSettings.isolatesPods
  },
  // The second problem of a workload is added to the Event of the first one.
  here("", "events", ["create", "patch"], "kubectl describe of a workload does not show lost messages")
]

/** The replicas that share queues hold a Lease for each and order it by a ConfigMap, named after digests. */
const shared = (group: string, resource: string, verbs: ReadonlyArray<string>, without: string): Right => ({
  scope: "operator-namespace",
  group,
  resource,
  verbs,
  when: ["workloads", "sqsSplitting"],
  whileOn: queueSettings.sharesQueues,
  without
})

const sharing: ReadonlyArray<Right> = [
  shared(
    "coordination.k8s.io",
    "leases",
    ["get", "list", "watch", "patch", "delete"],
    "no replica owns a queue, and no message is forwarded"
  ),
  shared("", "configmaps", ["get", "list", "watch", "patch", "delete"], "no replica hears which messages to forward")
]

const cleanup: ReadonlyArray<Right> = [
  here(queueGroup, "mirrordclustersplitsessions", ["list", "delete"], "splits outlive the operator"),
  here(mirrordGroup, "mirrordclusterworkloadpatches", ["list", "patch", "delete"], "splits outlive the operator"),
  here(
    mirrordGroup,
    "mirrordclusterexternalresources",
    ["list", "delete"],
    "records of temporary queues outlive the operator"
  ),
  here(
    "admissionregistration.k8s.io",
    "mutatingwebhookconfigurations",
    ["delete"],
    "webhooks for pods may outlive the operator"
  )
]

export const queueRights: RightCard = { operator: [...operator, ...sharing], cleanup }

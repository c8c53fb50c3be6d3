/**
 * All rights that the published chart gives to its own primary on a member. A member gives them on demand, where such a
 * primary is to reach it. The list is whole, though rights that our primaries use are in it: these may change.
 *
 * Not here: the rights that our primaries use (rights.ts of each capability).
 */

import type { Right, RightCard, RightCondition } from "../catalogue/right.ts"
import { operatorGroup } from "../resources/operator-api.ts"

const sessions = "mirrord.metalbear.co"
const databases = "dbs.mirrord.metalbear.co"
const previews = "preview.mirrord.metalbear.co"
const queues = "queues.mirrord.metalbear.co"

const branches = ["pgbranchdatabases", "mysqlbranchdatabases", "mongodbbranchdatabases", "branchdatabases"]
const all = ["get", "list", "watch", "create", "update", "patch", "delete"]
const reading = ["get", "list", "watch"]
const status = ["get", "update", "patch"]

const published = (
  group: string,
  resources: ReadonlyArray<string>,
  verbs: ReadonlyArray<string>,
  ...conditions: ReadonlyArray<RightCondition>
): ReadonlyArray<Right> =>
  resources.map((resource) => ({
    scope: "cluster",
    group,
    resource,
    verbs,
    when: ["publishedWidth", ...conditions],
    without: "a primary of the published chart lacks what it may use; ours uses none of it"
  }))

/** R1 of published-chart.md §2.9. */
const link: ReadonlyArray<Right> = [
  ...published(operatorGroup, ["mirrordoperators"], ["get"]),
  ...published(
    operatorGroup,
    ["targets", "copytargets", "targets/port-locks", "queuesplits"],
    ["get", "list", "proxy"]
  ),
  ...published(operatorGroup, ["copytargets"], ["create"]),
  ...published(databases, branches, all),
  ...published(
    databases,
    branches.map((kind) => `${kind}/status`),
    status
  ),
  ...published(previews, ["previewsessions"], all),
  ...published(previews, ["previewsessions/status"], status),
  ...published(queues, ["mirrordworkloadqueueregistries", "mirrordsplitconfigs"], all),
  ...published(sessions, ["mirrordpropertylists"], all),
  ...published("", ["pods"], reading),
  ...published("apps", ["deployments", "statefulsets", "replicasets", "daemonsets"], reading)
]

/** R2 of published-chart.md §2.9. */
const member: ReadonlyArray<Right> = [
  ...published(operatorGroup, ["sessions"], ["get", "list", "delete"]),
  ...published(sessions, ["mirrordclustersessions"], ["get", "list", "watch", "create", "delete"]),
  ...published(sessions, ["mirrordclustersessions/status"], ["get", "watch"]),
  ...published("", ["pods"], ["create", "patch", "delete"]),
  ...published("", ["services", "podtemplates"], reading),
  ...published("argoproj.io", ["rollouts"], reading),
  ...published(sessions, ["mirrordclusterworkloadpatchrequests"], ["create"]),
  ...published("", ["secrets"], ["create"], "branching"),
  ...published(queues, ["mirrordsqssessions"], ["get", "list", "watch", "create", "patch", "delete"], "sqsSplitting"),
  ...published(queues, ["mirrordsqssessions/status"], status, "sqsSplitting"),
  ...published(queues, ["mirrordclustersplitsessions"], all, "splitting"),
  ...published(queues, ["mirrordclustersplitsessions/status"], status, "splitting")
]

export const publishedRights: RightCard = { link, member }

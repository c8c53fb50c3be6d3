/**
 * The rights for a fleet: its clusters are found, known by their identity, and reached through their operators.
 *
 * Not here: the rights on sessions in members (sessions/rights.ts), and the wider ones of the published chart
 * (published-rights.ts).
 */

import type { Right, RightCard } from "../catalogue/right.ts"
import { operatorGroup } from "../resources/operator-api.ts"
import { identityNamespace, pinsName } from "./cluster-identity.ts"

/** The identity of a cluster is the UID of this namespace. */
const identity = { scope: "cluster", group: "", resource: "namespaces", name: identityNamespace } as const

/** The clusters of Cluster API and their kubeconfigs are in one namespace. */
const clusterApi = {
  scope: "cluster-api-namespace",
  verbs: ["list", "watch"],
  when: ["clusterApi"],
  without: "clusters of Cluster API are not found"
} as const

const operator: ReadonlyArray<Right> = [
  { ...identity, verbs: ["get"], without: "this cluster's operator does not know its own cluster among others" },
  {
    // Credentials are found by their label, which a role cannot select.
    scope: "operator-namespace",
    group: "",
    resource: "secrets",
    verbs: ["list", "watch"],
    when: ["primary"],
    without: "members' credentials are not seen"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "configmaps",
    name: pinsName,
    verbs: ["get", "patch"],
    when: ["primary"],
    without: "it is forgotten with the process which cluster each name stands for"
  },
  { ...clusterApi, group: "cluster.x-k8s.io", resource: "clusters" },
  { ...clusterApi, group: "", resource: "secrets" },
  {
    scope: "cluster-profile-namespace",
    group: "multicluster.x-k8s.io",
    resource: "clusterprofiles",
    verbs: ["list", "watch"],
    when: ["clusterProfile"],
    without: "clusters of ClusterProfiles are not found"
  }
]

const link: ReadonlyArray<Right> = [
  {
    scope: "cluster",
    group: operatorGroup,
    resource: "mirrordoperators",
    verbs: ["get"],
    without: "the cluster counts as lost"
  }
]

const member: ReadonlyArray<Right> = [
  {
    ...identity,
    verbs: ["get"],
    without: "the cluster's identity is not known, and another cluster in its place is not noticed"
  }
]

const developer: ReadonlyArray<Right> = [
  {
    scope: "cluster",
    group: operatorGroup,
    resource: "mirrordclusters",
    verbs: ["get", "list"],
    without: "`kubectl get mirrordclusters` fails"
  }
]

export const fleetRights: RightCard = { operator, link, member, developer }

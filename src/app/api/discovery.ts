/**
 * Discovery of the aggregated API (operator-api.md §1.5). Lists only what is served, because verbs have side effects
 * (§1.6), and no `events`, which would be a second kind of that name; routes.ts serves it.
 */

import { operatorGroup, operatorGroupVersion } from "../../domain/resources/operator-api.ts"

const resource = (name: string, kind: string, namespaced: boolean, verbs: ReadonlyArray<string>) => ({
  name,
  singularName: "",
  namespaced,
  kind,
  verbs
})

export const apiResourceList = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: operatorGroupVersion,
  resources: [
    resource("mirrordoperators", "MirrordOperator", false, ["get", "list"]),
    resource("mirrordoperators/ping", "MirrordOperator", false, ["get"]),
    resource("mirrordoperators/certificate", "MirrordOperator", false, ["create"]),
    resource("mirrordoperators/reports", "MirrordOperator", false, ["get"]),
    resource("mirrordclusteroperatorusercredentials", "MirrordClusterOperatorUserCredential", false, ["create"]),
    resource("branchcredentials", "BranchCredentials", false, ["create"]),
    resource("mirrordclusters", "MirrordCluster", false, ["get", "list"]),
    resource("mirrordclusters/proxy", "MirrordCluster", false, ["create", "delete", "get", "patch", "update"]),
    resource("targets", "Target", true, ["get", "list", "proxy"]),
    resource("targets/port-locks", "Target", true, ["get"]),
    resource("copytargets", "CopyTarget", true, ["create", "get", "list", "proxy"]),
    resource("queuesplits", "QueueSplit", true, ["get", "list"]),
    resource("sessions", "Session", true, ["list", "delete", "deletecollection"])
  ]
}

const version = { groupVersion: operatorGroupVersion, version: "v1" }

export const apiGroup = {
  kind: "APIGroup",
  apiVersion: "v1",
  name: operatorGroup,
  versions: [version],
  preferredVersion: version
}

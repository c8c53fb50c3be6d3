/**
 * Discovery of `operator.metalbear.co/v1` (operator-api.md §1.5). Only what is served is listed: verbs have side
 * effects (§1.6).
 */
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
  groupVersion: "operator.metalbear.co/v1",
  resources: [
    resource("mirrordoperators", "MirrordOperator", false, ["get", "list"]),
    resource("mirrordoperators/certificate", "MirrordOperator", false, ["create"]),
    resource("mirrordclusteroperatorusercredentials", "MirrordClusterOperatorUserCredential", false, ["create"]),
    resource("targets", "Target", true, ["list", "proxy"]),
    resource("copytargets", "CopyTarget", true, ["list"]),
    resource("sessions", "Session", true, ["list", "delete", "deletecollection"])
  ]
}

const version = { groupVersion: "operator.metalbear.co/v1", version: "v1" }

export const apiGroup = {
  kind: "APIGroup",
  apiVersion: "v1",
  name: "operator.metalbear.co",
  versions: [version],
  preferredVersion: version
}

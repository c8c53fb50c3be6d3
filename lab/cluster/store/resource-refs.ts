/**
 * The collections of built-in kinds that code here names. Only group, version and plural: all other properties of a
 * resource are in the `ResourceCatalog`.
 */

import type { ResourceRef } from "../schema/kube-object.ts"

const ref =
  (group: string) =>
  (resource: string): ResourceRef => ({ group, version: "v1", resource })

const core = ref("")
const apps = ref("apps")
const rbac = ref("rbac.authorization.k8s.io")

export const namespaces = core("namespaces")
export const nodes = core("nodes")
export const pods = core("pods")
export const services = core("services")
export const endpointSlices = ref("discovery.k8s.io")("endpointslices")
export const configMaps = core("configmaps")
export const secrets = core("secrets")
export const serviceAccounts = core("serviceaccounts")
export const deployments = apps("deployments")
export const replicaSets = apps("replicasets")
export const statefulSets = apps("statefulsets")
export const jobs = ref("batch")("jobs")
export const roles = rbac("roles")
export const roleBindings = rbac("rolebindings")
export const clusterRoles = rbac("clusterroles")
export const clusterRoleBindings = rbac("clusterrolebindings")
export const customResourceDefinitions = ref("apiextensions.k8s.io")("customresourcedefinitions")
export const mutatingWebhookConfigurations = ref("admissionregistration.k8s.io")("mutatingwebhookconfigurations")
export const apiServices = ref("apiregistration.k8s.io")("apiservices")

import type { ResourceRef } from "../schema/kube-object.ts"

const core = (resource: string): ResourceRef => ({ group: "", version: "v1", resource })
const apps = (resource: string): ResourceRef => ({ group: "apps", version: "v1", resource })

export const pods = core("pods")
export const namespaces = core("namespaces")
export const nodes = core("nodes")
export const services = core("services")
export const endpoints = core("endpoints")
export const endpointSlices: ResourceRef = { group: "discovery.k8s.io", version: "v1", resource: "endpointslices" }
export const configMaps = core("configmaps")
export const secrets = core("secrets")
export const deployments = apps("deployments")
export const replicaSets = apps("replicasets")
export const statefulSets = apps("statefulsets")
export const jobs: ResourceRef = { group: "batch", version: "v1", resource: "jobs" }

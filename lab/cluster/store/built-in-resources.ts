/**
 * The built-in resources that this server keeps or answers, with verbs, subresources and initial status. Their fields
 * come from `schema/built-in-models.ts`, their defaults and checks from the files of that name.
 */

import type { ResourceInfo } from "../schema/resource-info.ts"

const crud = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]

interface Options {
  readonly singular?: string
  readonly short?: ReadonlyArray<string>
  readonly categories?: ReadonlyArray<string>
  readonly sub?: ReadonlyArray<string>
  readonly verbs?: ReadonlyArray<string>
  readonly generation?: boolean
  readonly nameRule?: ResourceInfo["nameRule"]
  readonly initialStatus?: ResourceInfo["initialStatus"]
}

const define =
  (namespaced: boolean) =>
  (apiVersion: string, resource: string, kind: string, options: Options = {}): ResourceInfo => ({
    group: apiVersion.includes("/") ? apiVersion.replace(/\/.*$/, "") : "",
    version: apiVersion.replace(/^.*\//, ""),
    resource,
    kind,
    listKind: `${kind}List`,
    singular: options.singular ?? kind.toLowerCase(),
    namespaced,
    shortNames: options.short ?? [],
    categories: options.categories ?? [],
    subresources: options.sub ?? [],
    verbs: options.verbs ?? crud,
    generation: options.generation ?? false,
    nameRule: options.nameRule ?? "subdomain",
    initialStatus: options.initialStatus ?? { keep: false, value: {} }
  })

const namespaced = define(true)
const cluster = define(false)

const keepStatus: ResourceInfo["initialStatus"] = { keep: true }
const all = ["all"]
/** The initial status that Go writes: fields without `omitempty`, all zero. */
const zeros = (...fields: ReadonlyArray<string>): ResourceInfo["initialStatus"] => ({
  keep: false,
  value: Object.fromEntries(fields.map((field) => [field, 0]))
})
const workload = (short: ReadonlyArray<string>, ...counted: ReadonlyArray<string>): Options => ({
  short,
  categories: all,
  sub: ["status"],
  generation: true,
  initialStatus: zeros(...counted)
})

const scaled = (options: Options): Options => ({ ...options, sub: ["scale", "status"] })

export const builtInResources: ReadonlyArray<ResourceInfo> = [
  cluster("v1", "namespaces", "Namespace", {
    short: ["ns"],
    sub: ["status"],
    nameRule: "label",
    verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
    initialStatus: { keep: false, value: { phase: "Active" } }
  }),
  cluster("v1", "nodes", "Node", { short: ["no"], sub: ["status"], initialStatus: keepStatus }),
  namespaced("v1", "pods", "Pod", {
    short: ["po"],
    categories: all,
    sub: ["status", "log", "binding", "ephemeralcontainers"],
    generation: true,
    initialStatus: { keep: false, value: { phase: "Pending", qosClass: "BestEffort" } }
  }),
  namespaced("v1", "services", "Service", {
    short: ["svc"],
    categories: all,
    sub: ["status"],
    initialStatus: { keep: false, value: { loadBalancer: {} } }
  }),
  namespaced("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", {
    generation: true,
    initialStatus: keepStatus
  }),
  namespaced("v1", "configmaps", "ConfigMap", { short: ["cm"], initialStatus: keepStatus }),
  namespaced("v1", "secrets", "Secret", { initialStatus: keepStatus }),
  namespaced("v1", "serviceaccounts", "ServiceAccount", {
    short: ["sa"],
    sub: ["token"],
    initialStatus: keepStatus
  }),
  namespaced("v1", "events", "Event", { short: ["ev"], initialStatus: keepStatus }),
  namespaced("apps/v1", "deployments", "Deployment", scaled(workload(["deploy"]))),
  namespaced("apps/v1", "replicasets", "ReplicaSet", scaled(workload(["rs"], "replicas"))),
  namespaced("apps/v1", "statefulsets", "StatefulSet", scaled(workload(["sts"], "replicas", "availableReplicas"))),
  namespaced(
    "apps/v1",
    "daemonsets",
    "DaemonSet",
    workload(["ds"], "currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")
  ),
  namespaced("batch/v1", "jobs", "Job", workload([])),
  namespaced("batch/v1", "cronjobs", "CronJob", workload(["cj"])),
  cluster("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", {
    nameRule: "path",
    initialStatus: keepStatus
  }),
  cluster("rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding", {
    nameRule: "path",
    initialStatus: keepStatus
  }),
  namespaced("rbac.authorization.k8s.io/v1", "roles", "Role", { nameRule: "path", initialStatus: keepStatus }),
  namespaced("rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding", {
    nameRule: "path",
    initialStatus: keepStatus
  }),
  namespaced("coordination.k8s.io/v1", "leases", "Lease", { initialStatus: keepStatus }),
  cluster("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", {
    short: ["crd", "crds"],
    categories: ["api-extensions"],
    sub: ["status"],
    generation: true
  }),
  cluster("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", {
    categories: ["api-extensions"],
    generation: true,
    initialStatus: keepStatus
  }),
  cluster("apiregistration.k8s.io/v1", "apiservices", "APIService", {
    categories: ["api-extensions"],
    sub: ["status"],
    initialStatus: zeros()
  }),
  cluster("authentication.k8s.io/v1", "tokenreviews", "TokenReview", { verbs: ["create"] }),
  cluster("authorization.k8s.io/v1", "subjectaccessreviews", "SubjectAccessReview", { verbs: ["create"] }),
  cluster("authorization.k8s.io/v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", { verbs: ["create"] }),
  cluster("authentication.k8s.io/v1", "selfsubjectreviews", "SelfSubjectReview", { verbs: ["create"] })
]

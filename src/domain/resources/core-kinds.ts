/**
 * Narrow views of Kubernetes' built-in kinds and of Argo's Rollout: only the fields that the operator reads.
 *
 * Not here: writing such objects. A view forgets the fields that it does not name.
 */

import * as Schema from "effect/Schema"
import { keptBy } from "./kept-fields.ts"
import { ObjectMeta } from "./object-meta.ts"
import { LabelSelector } from "./policies/label-selector.ts"
import type { ResourceDescriptor, WatchedResource } from "./resource-descriptor.ts"

const StringMap = Schema.Record(Schema.String, Schema.String)
const optionalText = Schema.optionalKey(Schema.NullOr(Schema.String))

export const ContainerStatus = Schema.Struct({
  name: Schema.String,
  ready: Schema.optionalKey(Schema.Boolean),
  containerID: optionalText,
  state: Schema.optionalKey(
    Schema.Struct({
      running: Schema.optionalKey(Schema.Unknown),
      waiting: Schema.optionalKey(Schema.Struct({ reason: optionalText, message: optionalText })),
      terminated: Schema.optionalKey(
        Schema.Struct({ reason: optionalText, message: optionalText, exitCode: Schema.optionalKey(Schema.Int) })
      )
    })
  ),
  /** How the run before ended. */
  lastState: Schema.optionalKey(
    Schema.Struct({
      terminated: Schema.optionalKey(Schema.Struct({ reason: optionalText, exitCode: Schema.optionalKey(Schema.Int) }))
    })
  )
})
export type ContainerStatus = typeof ContainerStatus.Type

const Container = Schema.Struct({ name: Schema.String })

const PodTemplate = Schema.Struct({
  metadata: Schema.optionalKey(Schema.NullOr(Schema.Struct({ labels: Schema.optionalKey(Schema.NullOr(StringMap)) }))),
  spec: Schema.optionalKey(Schema.Struct({ containers: Schema.optionalKey(Schema.NullOr(Schema.Array(Container))) }))
})

export const Pod = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.optionalKey(
    Schema.Struct({
      nodeName: optionalText,
      shareProcessNamespace: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
      containers: Schema.optionalKey(Schema.Array(Container))
    })
  ),
  status: Schema.optionalKey(
    Schema.Struct({
      phase: optionalText,
      reason: optionalText,
      message: optionalText,
      startTime: optionalText,
      podIP: optionalText,
      conditions: Schema.optionalKey(
        Schema.NullOr(
          Schema.Array(Schema.Struct({ type: Schema.String, status: Schema.String, message: optionalText }))
        )
      ),
      podIPs: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Struct({ ip: optionalText })))),
      containerStatuses: Schema.optionalKey(Schema.NullOr(Schema.Array(ContainerStatus))),
      initContainerStatuses: Schema.optionalKey(Schema.NullOr(Schema.Array(ContainerStatus))),
      ephemeralContainerStatuses: Schema.optionalKey(Schema.NullOr(Schema.Array(ContainerStatus)))
    })
  )
})
export type Pod = typeof Pod.Type

/** The fields that Deployment, ReplicaSet, StatefulSet, Job and Rollout share, and a Rollout's `workloadRef`. */
export const Workload = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.optionalKey(
    Schema.Struct({
      replicas: Schema.optionalKey(Schema.NullOr(Schema.Int)),
      selector: Schema.optionalKey(Schema.NullOr(LabelSelector)),
      template: Schema.optionalKey(Schema.NullOr(PodTemplate)),
      workloadRef: Schema.optionalKey(
        Schema.NullOr(Schema.Struct({ apiVersion: Schema.String, kind: Schema.String, name: Schema.String }))
      )
    })
  )
})
export type Workload = typeof Workload.Type

export const Service = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.optionalKey(Schema.Struct({ selector: Schema.optionalKey(Schema.NullOr(StringMap)) }))
})
export type Service = typeof Service.Type

/** The values of `data` stay in their base64 text. */
const Secret = Schema.Struct({ metadata: ObjectMeta, data: Schema.optionalKey(Schema.NullOr(StringMap)) })
export type Secret = typeof Secret.Type

const ConfigMap = Schema.Struct({ metadata: ObjectMeta, data: Schema.optionalKey(Schema.NullOr(StringMap)) })
export type ConfigMap = typeof ConfigMap.Type

export const Lease = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.optionalKey(
    Schema.Struct({
      holderIdentity: optionalText,
      leaseDurationSeconds: Schema.optionalKey(Schema.NullOr(Schema.Int)),
      acquireTime: optionalText,
      renewTime: optionalText,
      leaseTransitions: Schema.optionalKey(Schema.NullOr(Schema.Int))
    })
  )
})
export type Lease = typeof Lease.Type

/** The registration of an API behind a Service. */
export const ApiService = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.Struct({
    service: Schema.Struct({
      name: Schema.String,
      namespace: Schema.String,
      port: Schema.optionalKey(Schema.NullOr(Schema.Int))
    }),
    caBundle: optionalText,
    insecureSkipTLSVerify: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
  })
})
export type ApiService = typeof ApiService.Type

/** The answer to a SubjectAccessReview. */
export const SubjectAccessReview = Schema.Struct({
  status: Schema.Struct({ allowed: Schema.Boolean, denied: Schema.optionalKey(Schema.Boolean), reason: optionalText })
})
export type SubjectAccessReview = typeof SubjectAccessReview.Type

/** The answer to a TokenRequest. The token is a secret: wrap it before it goes anywhere. */
const TokenRequest = Schema.Struct({
  status: Schema.Struct({ token: Schema.String, expirationTimestamp: Schema.String })
})
export type TokenRequest = typeof TokenRequest.Type

const namespaced = <T>(kind: Omit<ResourceDescriptor<T>, "scope" | "keeps">): WatchedResource<T> => ({
  ...kind,
  keeps: keptBy(kind.schema),
  scope: "Namespaced"
})

export const pods = namespaced({ group: "", version: "v1", kind: "Pod", plural: "pods", schema: Pod })
export const services = namespaced({ group: "", version: "v1", kind: "Service", plural: "services", schema: Service })
export const secrets = namespaced({ group: "", version: "v1", kind: "Secret", plural: "secrets", schema: Secret })
export const configMaps = namespaced({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  schema: ConfigMap
})
export const leases = namespaced({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  schema: Lease
})
export const deployments = namespaced({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  schema: Workload
})
export const replicaSets = namespaced({
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  schema: Workload
})
export const statefulSets = namespaced({
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  schema: Workload
})
/** A node, as far as it says how many pods it takes. */
const Node = Schema.Struct({
  metadata: ObjectMeta,
  status: Schema.optionalKey(
    Schema.Struct({
      allocatable: Schema.optionalKey(Schema.NullOr(Schema.Struct({ pods: optionalText })))
    })
  )
})
export type Node = typeof Node.Type

const Namespace = Schema.Struct({ metadata: ObjectMeta })

export const namespaces: ResourceDescriptor<typeof Namespace.Type> = {
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  scope: "Cluster",
  schema: Namespace
}

export const nodes: ResourceDescriptor<Node> = {
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  scope: "Cluster",
  schema: Node
}
export const jobs = namespaced({ group: "batch", version: "v1", kind: "Job", plural: "jobs", schema: Workload })
export const rollouts = namespaced({
  group: "argoproj.io",
  version: "v1alpha1",
  kind: "Rollout",
  plural: "rollouts",
  schema: Workload
})

export const subjectAccessReviews: ResourceDescriptor<SubjectAccessReview> = {
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  scope: "Cluster",
  schema: SubjectAccessReview
}

export const apiServices: ResourceDescriptor<ApiService> = {
  group: "apiregistration.k8s.io",
  version: "v1",
  kind: "APIService",
  plural: "apiservices",
  scope: "Cluster",
  schema: ApiService
}

/** Read for its uid alone. */
export const clusterRoles: Omit<ResourceDescriptor<never>, "schema"> = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  scope: "Cluster"
}

/** Made and compared as a whole (queues/pod-webhook.ts). */
export const mutatingWebhookConfigurations: Omit<ResourceDescriptor<never>, "schema"> = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  scope: "Cluster"
}

/** Created at the subresource `serviceaccounts/<name>/token`. */
export const tokenRequests = namespaced({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenRequest",
  plural: "tokenrequests",
  schema: TokenRequest
})

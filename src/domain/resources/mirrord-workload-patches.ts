/**
 * The published kinds MirrordClusterWorkloadPatch and MirrordClusterWorkloadPatchRequest. Here they only make
 * definitions in `crds/`.
 */

import * as Schema from "effect/Schema"
import { type CustomResource, ageColumn, column } from "./custom-resource.ts"
import { int32, nullable, text, truth } from "./field-schemas.ts"
import { ObjectMeta } from "./object-meta.ts"
import { objectReference } from "./session-shapes.ts"

const WorkloadRef = Schema.Struct({
  ...objectReference,
  namespace: text("Namespace of the workload.")
}).annotate({ description: "The workload." })

/** The changes of a patch (published-chart.md §1.7). */
const change = {
  envVars: Schema.Array(
    Schema.Struct({
      container: text("Name of the container."),
      variable: text("Its variable."),
      value: text("The value.")
    })
  ).annotate({ description: "Variables that get another value." }),
  replicas: nullable(int32("Number of pods."))
}

export const MirrordClusterWorkloadPatch = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.Struct({
    workloadRef: WorkloadRef,
    requests: Schema.Array(Schema.Struct({ uid: text("Uid of the request."), ...change })).annotate({
      description: "Requests that are in force."
    })
  }).annotate({ description: "What is changed." })
})
/** Everything that is changed in one workload, put together from the requests. */
export type MirrordClusterWorkloadPatch = typeof MirrordClusterWorkloadPatch.Type

export const MirrordClusterWorkloadPatchRequest = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.Struct({ workloadRef: WorkloadRef, ...change }).annotate({ description: "What shall be changed." }),
  status: nullable(
    Schema.Struct({ accepted: truth("Whether the change is part of the workload's patch.") }).annotate({
      description: "What became of the request."
    })
  )
})
/** A request to change a workload. */
export type MirrordClusterWorkloadPatchRequest = typeof MirrordClusterWorkloadPatchRequest.Type

const common = {
  group: "mirrord.metalbear.co",
  version: "v1alpha",
  scope: "Cluster",
  installedWith: [],
  columns: [
    column("WORKLOAD-API-VERSION", ".spec.workloadRef.apiVersion"),
    column("WORKLOAD-KIND", ".spec.workloadRef.kind"),
    column("WORKLOAD-NAME", ".spec.workloadRef.name"),
    column("WORKLOAD-NAMESPACE", ".spec.workloadRef.namespace"),
    ageColumn
  ]
} as const

export const mirrordClusterWorkloadPatches: CustomResource<MirrordClusterWorkloadPatch> = {
  ...common,
  kind: "MirrordClusterWorkloadPatch",
  plural: "mirrordclusterworkloadpatches",
  schema: MirrordClusterWorkloadPatch,
  description: "Everything that sessions change in one workload."
}

export const mirrordClusterWorkloadPatchRequests: CustomResource<MirrordClusterWorkloadPatchRequest> = {
  ...common,
  kind: "MirrordClusterWorkloadPatchRequest",
  plural: "mirrordclusterworkloadpatchrequests",
  schema: MirrordClusterWorkloadPatchRequest,
  description: "A change that a session wants in a workload."
}

/**
 * All custom resources of the chart, and the CustomResourceDefinitions that are generated from them into `crds/`.
 *
 * Not here: the schemas, one file each, and installing the definitions, which the chart does.
 */

import { isObject } from "../json.ts"
import { branchDatabases } from "./branches/branch-database.ts"
import { mongodbBranchDatabases, mysqlBranchDatabases, pgBranchDatabases } from "./branches/legacy-branch-databases.ts"
import type { CustomResource } from "./custom-resource.ts"
import { mirrordClusterSessions } from "./mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "./mirrord-multi-cluster-session.ts"
import { mirrordClusterWorkloadPatches, mirrordClusterWorkloadPatchRequests } from "./mirrord-workload-patches.ts"
import { type Json, type JsonObject, keepingUnknownFields, openApiSchema } from "./open-api-schema.ts"
import { mirrordClusterPolicies, mirrordPolicies } from "./policies/mirrord-policies.ts"
import { mirrordClusterProfiles, mirrordProfiles } from "./policies/mirrord-profiles.ts"
import { mirrordClusterTlsStealConfigs, mirrordTlsStealConfigs } from "./policies/mirrord-tls-steal-configs.ts"
import { previewSessions } from "./preview-session.ts"
import {
  mirrordKafkaClientConfigs,
  mirrordKafkaEphemeralTopics,
  mirrordKafkaTopicsConsumers
} from "./queues/kafka-splitting.ts"
import { mirrordClusterExternalResources } from "./queues/mirrord-cluster-external-resource.ts"
import { mirrordClusterSplitSessions } from "./queues/mirrord-cluster-split-session.ts"
import { mirrordPropertyLists } from "./queues/mirrord-property-list.ts"
import { mirrordSplitConfigs } from "./queues/mirrord-split-config.ts"
import { mirrordWorkloadQueueRegistries } from "./queues/mirrord-workload-queue-registry.ts"
import { mirrordRmqSessions, mirrordSqsSessions } from "./queues/queue-sessions.ts"

/** Every kind that the published chart installs (published-chart.md §1.2). */
export const customResources: ReadonlyArray<CustomResource<unknown>> = [
  mirrordMultiClusterSessions,
  mirrordClusterSessions,
  mirrordClusterWorkloadPatches,
  mirrordClusterWorkloadPatchRequests,
  mirrordClusterExternalResources,
  mirrordPropertyLists,
  mirrordTlsStealConfigs,
  mirrordClusterTlsStealConfigs,
  mirrordPolicies,
  mirrordClusterPolicies,
  mirrordProfiles,
  mirrordClusterProfiles,
  previewSessions,
  branchDatabases,
  pgBranchDatabases,
  mysqlBranchDatabases,
  mongodbBranchDatabases,
  mirrordWorkloadQueueRegistries,
  mirrordSqsSessions,
  mirrordRmqSessions,
  mirrordSplitConfigs,
  mirrordClusterSplitSessions,
  mirrordKafkaClientConfigs,
  mirrordKafkaEphemeralTopics,
  mirrordKafkaTopicsConsumers
]

const specSchema = ({ creationRules = [], keepsUnknownFields }: CustomResource<unknown>, schema: Json): Json => {
  const spec = keepsUnknownFields === true ? keepingUnknownFields(schema) : schema
  if (!isObject(spec) || creationRules.length === 0) return spec
  return {
    ...spec,
    // oldSelf.hasValue() needs Kubernetes 1.30.
    "x-kubernetes-validations": creationRules.map(({ message, rule }) => ({
      rule: `oldSelf.hasValue() || ${rule}`,
      optionalOldSelf: true,
      message
    }))
  }
}

const rootSchema = (resource: CustomResource<unknown>): JsonObject => {
  const { properties } = openApiSchema(resource.schema)
  if (!isObject(properties)) throw new Error(`${resource.kind} has no fields`)
  const { spec, status } = properties
  if (spec === undefined) throw new Error(`${resource.kind} has no spec`)
  return {
    description: resource.description,
    type: "object",
    properties: { spec: specSchema(resource, spec), ...(status === undefined ? {} : { status }) },
    required: ["spec"]
  }
}

const definition = (resource: CustomResource<unknown>): JsonObject => {
  const { columns = [], group, kind, plural, scope, shortNames = [], version } = resource
  const schema = rootSchema(resource)
  const hasStatus = isObject(schema["properties"]) && schema["properties"]["status"] !== undefined
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames.length === 0 ? {} : { shortNames })
      },
      scope,
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          ...(columns.length === 0
            ? {}
            : { additionalPrinterColumns: columns.map(({ name, type, jsonPath }) => ({ name, type, jsonPath })) }),
          ...(hasStatus ? { subresources: { status: {} } } : {}),
          schema: { openAPIV3Schema: schema }
        }
      ]
    }
  }
}

/** A file of `crds/`, before it is printed. */
export interface GeneratedDefinition {
  /** File name in `crds/`. */
  readonly file: string
  /** Paths in the chart's values: the kind is installed if one of them is true. Empty: it is always installed. */
  readonly installedWith: ReadonlyArray<string>
  readonly manifest: JsonObject
}

/** The CustomResourceDefinition of every kind, with the chart's values that switch it on. */
export const customResourceDefinitions = (): ReadonlyArray<GeneratedDefinition> =>
  customResources.map((resource) => ({
    file: `${resource.plural}.yaml`,
    installedWith: resource.installedWith,
    manifest: definition(resource)
  }))

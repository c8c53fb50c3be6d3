import type * as Schema from "effect/Schema"
import {
  MirrordClusterSessionSpec,
  MirrordClusterSessionStatus,
  mirrordClusterSessions
} from "./mirrord-cluster-session.ts"
import {
  MirrordMultiClusterSessionSpec,
  MirrordMultiClusterSessionStatus,
  mirrordMultiClusterSessions
} from "./mirrord-multi-cluster-session.ts"
import { openApiSchema, type JsonObject } from "./open-api-schema.ts"
import type { ResourceDescriptor } from "./resource-descriptor.ts"

interface PrinterColumn {
  readonly name: string
  readonly type: "string" | "date"
  readonly jsonPath: string
}

interface Definition {
  readonly resource: ResourceDescriptor<unknown>
  readonly description: string
  readonly shortNames: ReadonlyArray<string>
  readonly columns: ReadonlyArray<PrinterColumn>
  readonly spec: Schema.Constraint
  readonly status: Schema.Constraint
  /** Whether `status: null` is legal, as the published CRD of the kind has it. */
  readonly statusNullable: boolean
}

const column = (name: string, jsonPath: string): PrinterColumn => ({ name, type: "string", jsonPath })
const dateColumn = (name: string, jsonPath: string): PrinterColumn => ({ name, type: "date", jsonPath })

/** The kinds that this operator stores, with names and printer columns as published (helm-chart.md §6.1). */
const definitions: ReadonlyArray<Definition> = [
  {
    resource: mirrordClusterSessions,
    description: "One mirrord session in this cluster.",
    shortNames: [],
    columns: [
      column("USER ID", ".spec.owner.userId"),
      column("USERNAME", ".spec.owner.username"),
      column("HOSTNAME", ".spec.owner.hostname"),
      column("K8S USER", ".spec.owner.k8sUsername"),
      column("NAMESPACE", ".spec.namespace"),
      column("TARGET", ".spec.target"),
      dateColumn("STARTED AT", ".metadata.creationTimestamp"),
      dateColumn("CLOSED AT", ".metadata.deletionTimestamp"),
      column("CLOSE REASON", ".status.closed.reason")
    ],
    spec: MirrordClusterSessionSpec,
    status: MirrordClusterSessionStatus,
    statusNullable: true
  },
  {
    resource: mirrordMultiClusterSessions,
    description: "One mirrord session over many clusters, seen from the primary cluster.",
    shortNames: ["mmcs"],
    columns: [
      column("Target Alias", ".spec.targetAlias"),
      column("Phase", ".status.phase"),
      column("Primary Cluster", ".spec.primaryCluster"),
      dateColumn("Age", ".metadata.creationTimestamp")
    ],
    spec: MirrordMultiClusterSessionSpec,
    status: MirrordMultiClusterSessionStatus,
    statusNullable: false
  }
]

const manifest = (definition: Definition): JsonObject => {
  const { resource } = definition
  const singular = resource.kind.toLowerCase()
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${resource.plural}.${resource.group}` },
    spec: {
      group: resource.group,
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular,
        ...(definition.shortNames.length === 0 ? {} : { shortNames: definition.shortNames })
      },
      scope: resource.scope,
      versions: [
        {
          name: resource.version,
          served: true,
          storage: true,
          additionalPrinterColumns: definition.columns.map(({ name, type, jsonPath }) => ({ name, type, jsonPath })),
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              description: definition.description,
              type: "object",
              properties: {
                spec: openApiSchema(definition.spec),
                status: {
                  ...openApiSchema(definition.status),
                  ...(definition.statusNullable ? { nullable: true } : {})
                }
              },
              required: ["spec"]
            }
          }
        }
      ]
    }
  }
}

/** Every CRD of this operator: file name in `crds/` and the manifest. */
export const customResourceDefinitions = (): ReadonlyArray<{ readonly file: string; readonly manifest: JsonObject }> =>
  definitions.map((definition) => ({ file: `${definition.resource.plural}.yaml`, manifest: manifest(definition) }))

/** The published kind MirrordClusterExternalResource. Here it only makes the definition in `crds/`. */

import * as Schema from "effect/Schema"
import type { CustomResource } from "../custom-resource.ts"
import { literals, nullable, text } from "../field-schemas.ts"
import { ObjectMeta } from "../object-meta.ts"

const propertiesList = {
  propertiesListName: text("Name of the MirrordPropertyList with the broker's credentials."),
  propertiesListNamespace: text("Its namespace.")
}
const name = text("Name at the broker.")
const kind = <const K extends ReadonlyArray<string>>(kinds: K) => literals(kinds, "What it is.")

/** Published fields (published-chart.md §1.7): one of them names the resource. */
const MirrordClusterExternalResourceSpec = Schema.Struct({
  sqsQueue: nullable(Schema.Struct({ nameOrUrl: text("Name or URL of the queue.") })),
  kafkaTopic: nullable(
    Schema.Struct({
      name,
      clientConfig: text("Name of the MirrordKafkaClientConfig."),
      clientConfigNamespace: text("Its namespace.")
    })
  ),
  rmqResource: nullable(Schema.Struct({ name, kind: kind(["queue", "exchange", "unknown"]), ...propertiesList })),
  gcpPubsubResource: nullable(
    Schema.Struct({
      name,
      project: text("Project that owns it."),
      kind: kind(["topic", "subscription", "unknown"]),
      ...propertiesList
    })
  ),
  azureServiceBusResource: nullable(
    Schema.Struct({ name, kind: kind(["queue", "topic", "subscription", "unknown"]), ...propertiesList })
  )
}).annotate({ description: "What was made, and where." })

export const MirrordClusterExternalResource = Schema.Struct({
  metadata: ObjectMeta,
  spec: MirrordClusterExternalResourceSpec
})
/** Something that the operator made outside of the cluster and must delete: this object goes after it. */
export type MirrordClusterExternalResource = typeof MirrordClusterExternalResource.Type

export const mirrordClusterExternalResources: CustomResource<MirrordClusterExternalResource> = {
  group: "mirrord.metalbear.co",
  version: "v1alpha",
  kind: "MirrordClusterExternalResource",
  plural: "mirrordclusterexternalresources",
  scope: "Cluster",
  schema: MirrordClusterExternalResource,
  description: "Something outside of the cluster that the operator made for sessions.",
  installedWith: []
}

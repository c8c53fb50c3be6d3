/**
 * The published kinds MirrordTlsStealConfig and MirrordClusterTlsStealConfig.
 *
 * Not here: what an agent gets of them (domain/policies/tls).
 */

import * as Schema from "effect/Schema"
import type { CustomResource } from "../custom-resource.ts"
import { nullable, text, texts, truth, uint16 } from "../field-schemas.ts"
import { keepsWholeSpec } from "../kept-fields.ts"
import { ObjectMeta } from "../object-meta.ts"
import type { WatchedResource } from "../resource-descriptor.ts"
import { LabelSelector } from "./label-selector.ts"

const Authentication = Schema.Struct({
  certPem: text("Path of the certificate chain in the target's container."),
  keyPem: text("Path of the key in the target's container.")
})
const acceptAnyCert = Schema.optionalKey(truth("Whether certificates go unchecked."))
const trustRoots = Schema.optionalKey(texts("Paths of root certificates in the target's container."))

/** The `spec` of both kinds (published-chart.md §1.14). */
const TlsStealConfigSpec = Schema.Struct({
  ports: Schema.Array(
    Schema.Struct({
      port: uint16("Port that serves TLS."),
      agentAsServer: Schema.Struct({
        authentication: Authentication,
        alpnProtocols: Schema.optionalKey(texts("Protocols that are offered.")),
        verification: nullable(
          Schema.Struct({
            acceptAnyCert,
            allowAnonymous: Schema.optionalKey(truth("Whether clients may come without a certificate.")),
            trustRoots
          }).annotate({ description: "How clients are checked." })
        )
      }).annotate({ description: "How the agent answers clients." }),
      agentAsClient: Schema.Struct({
        verification: Schema.Struct({ acceptAnyCert, trustRoots }).annotate({
          description: "How the server is checked."
        }),
        authentication: nullable(Authentication)
      }).annotate({ description: "How the agent reaches the original server." })
    })
  ).annotate({ description: "Ports of the targets that serve TLS." }),
  selector: nullable(LabelSelector),
  targetPath: nullable(text("Only targets whose name, such as `deployment.my-app`, matches this pattern."))
}).annotate({ description: "How agents read encrypted traffic, and of which targets." })

export const TlsStealConfig = Schema.Struct({ metadata: ObjectMeta, spec: TlsStealConfigSpec })
/** Lets agents read and filter the TLS traffic of the targets that it selects. */
export type TlsStealConfig = typeof TlsStealConfig.Type

const common = {
  group: "mirrord.metalbear.co",
  version: "v1alpha",
  schema: TlsStealConfig,
  keeps: keepsWholeSpec,
  installedWith: []
} as const

export const mirrordTlsStealConfigs: CustomResource<TlsStealConfig> & WatchedResource<TlsStealConfig> = {
  ...common,
  kind: "MirrordTlsStealConfig",
  plural: "mirrordtlsstealconfigs",
  scope: "Namespaced",
  description: "How agents read encrypted traffic in this namespace."
}

export const mirrordClusterTlsStealConfigs: CustomResource<TlsStealConfig> & WatchedResource<TlsStealConfig> = {
  ...common,
  kind: "MirrordClusterTlsStealConfig",
  plural: "mirrordclustertlsstealconfigs",
  scope: "Cluster",
  description: "How agents read encrypted traffic in this cluster."
}

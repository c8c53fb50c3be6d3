/** The resource by which a client requests a certificate, as the client sends it (operator-api.md §5.2). */

import * as Schema from "effect/Schema"
import type { ResourceDescriptor } from "../../src/domain/resources/resource-descriptor.ts"

/**
 * A client's request for a certificate; never stored. `spec.kind` is `regular` or `ci`; the client reads other texts as
 * unknown, so any text is accepted here.
 */
export const MirrordClusterOperatorUserCredential = Schema.Struct({
  metadata: Schema.Struct({
    name: Schema.optionalKey(Schema.String),
    generateName: Schema.optionalKey(Schema.String)
  }),
  spec: Schema.Struct({
    /** PEM of a PKCS#10 request. */
    csr: Schema.String,
    kind: Schema.String
  }),
  status: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        /** PEM of one certificate. */
        certificate: Schema.String
      })
    )
  )
})
export type MirrordClusterOperatorUserCredential = typeof MirrordClusterOperatorUserCredential.Type

export const userCredentials: ResourceDescriptor<MirrordClusterOperatorUserCredential> = {
  group: "operator.metalbear.co",
  version: "v1",
  kind: "MirrordClusterOperatorUserCredential",
  plural: "mirrordclusteroperatorusercredentials",
  scope: "Cluster",
  schema: MirrordClusterOperatorUserCredential
}

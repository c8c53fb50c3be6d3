/**
 * The values that each field of the two configuration files may hold (published-chart.md §2.4). The parser asks them,
 * and the chart's `values.schema.json` is printed from them, where the same fields stand under `operator.multiCluster`.
 * A field that is absent or `null` is not set, and so are seconds of 0. `managementOnly` is the exception: true where
 * it is absent, and false where it is `null` (published-chart.md §2.3).
 */

import * as Schema from "effect/Schema"
import { literals, text, truth } from "../resources/field-schemas.ts"
import { authTypes } from "./credentials/cluster-auth.ts"

const seconds = (description: string) => Schema.Int.check(Schema.isGreaterThan(0)).annotate({ description })

/** Fields of `multicluster-config.yaml`. */
export const primaryFields = {
  clusterName: text("Name of this cluster in the fleet; primary unless given"),
  defaultCluster: text(
    "Name of the cluster that serves environment, files, DNS and outgoing connections: a key of clusters, or " +
      "clusterName unless managementOnly"
  ),
  managementOnly: truth("Whether this cluster runs no workloads; true unless given"),
  remoteSessionTimeoutSecs: seconds("Seconds that a starting session waits for its clusters; 300 unless given"),
  sessionTtlSecs: seconds("Seconds that a session lives without a client; 60 unless given"),
  sessionStart: literals(
    ["default", "all"],
    "When a session is usable: default, as soon as the default cluster is ready and the others are ready or left " +
      "out; all, when every cluster is ready"
  )
}

/** Fields of an entry of `clusters-config.yaml`, but for its name, which is the key in the chart's values. */
export const clusterFields = {
  server: Schema.String.check(Schema.isPattern(/\S/u)).annotate({
    description: "URL of the cluster's API server; not with authType outbound"
  }),
  authType: literals(authTypes, "How the primary proves who it is to this cluster"),
  isDefault: Schema.Union([Schema.Boolean, Schema.Literals(["true", "false"])]).annotate({
    description: "Whether this is the default cluster; at one cluster only"
  }),
  namespace: text("Namespace of the operator in that cluster"),
  caData: text("CA of the API server: PEM, or base64 of it. Without it the system's roots are used"),
  region: text("AWS region of the cluster; eks needs it"),
  tenantId: text("Azure tenant, instead of that of the pod's workload identity (aks)"),
  clientId: text("Azure client, instead of that of the pod's workload identity (aks)")
}

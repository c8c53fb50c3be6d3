/**
 * The published kinds MirrordPolicy and MirrordClusterPolicy.
 *
 * Not here: what a policy means (domain/policies).
 */

import * as Schema from "effect/Schema"
import type { CustomResource } from "../custom-resource.ts"
import { literals, nullable, text, texts, truth, uint16 } from "../field-schemas.ts"
import { keepsWholeSpec } from "../kept-fields.ts"
import { ObjectMeta } from "../object-meta.ts"
import type { WatchedResource } from "../resource-descriptor.ts"
import { LabelSelector } from "./label-selector.ts"

const patterns = (description: string) => Schema.optionalKey(texts(description).annotate({ default: [] }))
const off = (description: string) => Schema.optionalKey(truth(description).annotate({ default: false }))

const OutgoingRule = Schema.Struct({
  hostname: nullable(text("Regular expression for host names.")),
  ipBlock: nullable(
    Schema.Struct({ cidr: text("Network in CIDR form."), except: patterns("Networks inside it that do not count.") })
  ),
  ports: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({ port: uint16("A port."), protocol: literals(["TCP", "UDP"], "Its protocol.") })
    ).annotate({ description: "Only these; none: all.", default: [] })
  )
})
const outgoingRules = (description: string) =>
  Schema.optionalKey(Schema.Array(OutgoingRule).annotate({ description, default: [] }))

/**
 * The `spec` of both kinds (published-chart.md §1.14). Objects are stored with every default filled in, as published.
 */
const PolicySpec = Schema.Struct({
  block: Schema.Array(
    literals(["steal", "steal-without-filter", "mirror", "copy-target-scale-down"], "Something that sessions can do.")
  ).annotate({ description: "What sessions may not do. May be empty." }),
  targetPath: nullable(
    text("Only targets whose path, such as `deploy/my-app`, matches this pattern with `*` and `?`.")
  ),
  selector: nullable(LabelSelector),
  appliesToCopyTargets: off("Whether copies of the targets are meant too."),
  requireProfile: off("Whether a session must use a profile."),
  profileAllowlist: nullable(texts("Profiles that sessions may use.")),
  env: Schema.optionalKey(
    Schema.Struct({ exclude: patterns("Variables that sessions never see.") }).annotate({
      description: "Rules for the environment.",
      default: { exclude: [] }
    })
  ),
  fs: Schema.optionalKey(
    Schema.Struct({
      readOnly: patterns("Paths that sessions only read."),
      local: patterns("Paths that sessions have on their own machine only."),
      notFound: patterns("Paths that do not exist for sessions.")
    }).annotate({ description: "Rules for files.", default: { readOnly: [], local: [], notFound: [] } })
  ),
  network: Schema.optionalKey(
    Schema.Struct({
      incoming: Schema.optionalKey(
        Schema.Struct({
          httpFilter: Schema.optionalKey(
            Schema.Struct({
              headerFilter: nullable(text("Regular expression that a session's header filter must match."))
            }).annotate({ description: "Rules for filters of requests.", default: {} })
          )
        }).annotate({ description: "Rules for incoming traffic.", default: { httpFilter: {} } })
      ),
      outgoing: Schema.optionalKey(
        Schema.Struct({
          allow: outgoingRules("Only these connections are allowed; none: all."),
          block: outgoingRules("These connections are refused.")
        }).annotate({ description: "Rules for outgoing traffic.", default: { allow: [], block: [] } })
      )
    }).annotate({
      description: "Rules for traffic.",
      default: { incoming: { httpFilter: {} }, outgoing: { allow: [], block: [] } }
    })
  )
}).annotate({ description: "What sessions may not do, and to which targets that applies." })

export const Policy = Schema.Struct({ metadata: ObjectMeta, spec: PolicySpec })
/** Limits what sessions may do with the targets that it selects: those of its namespace, or all. */
export type Policy = typeof Policy.Type

const common = {
  group: "policies.mirrord.metalbear.co",
  version: "v1alpha",
  schema: Policy,
  keeps: keepsWholeSpec,
  installedWith: []
} as const

export const mirrordPolicies: CustomResource<Policy> & WatchedResource<Policy> = {
  ...common,
  kind: "MirrordPolicy",
  plural: "mirrordpolicies",
  scope: "Namespaced",
  description: "What sessions may not do in this namespace."
}

export const mirrordClusterPolicies: CustomResource<Policy> & WatchedResource<Policy> = {
  ...common,
  kind: "MirrordClusterPolicy",
  plural: "mirrordclusterpolicies",
  scope: "Cluster",
  description: "What sessions may not do in this cluster."
}

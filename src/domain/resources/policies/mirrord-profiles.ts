/**
 * The published kinds MirrordProfile and MirrordClusterProfile. Here they only make definitions in `crds/`; clients
 * read the objects themselves.
 */

import * as Schema from "effect/Schema"
import type { CustomResource } from "../custom-resource.ts"
import { literals } from "../field-schemas.ts"
import { ObjectMeta } from "../object-meta.ts"

const changes = [
  "incoming-mirror",
  "incoming-steal",
  "incoming-off",
  "dns-remote",
  "dns-off",
  "outgoing-remote",
  "outgoing-off"
] as const

/**
 * The `spec` of both kinds (published-chart.md §1.14). Unknown fields are dropped and not kept: clients refuse a
 * profile that has one (§1.15), and objects that work today must go on working.
 */
const ProfileSpec = Schema.Struct({
  featureAdjustments: Schema.Array(Schema.Struct({ change: literals(changes, "The change.") })).annotate({
    description: "Changes to the session's configuration, one after the other."
  })
}).annotate({ description: "How the configuration of sessions changes." })

export const Profile = Schema.Struct({ metadata: ObjectMeta, spec: ProfileSpec })
/** Changes to a session's configuration that a user chooses by name. Clients apply it themselves. */
export type Profile = typeof Profile.Type

const common = {
  group: "profiles.mirrord.metalbear.co",
  version: "v1alpha",
  schema: Profile,
  installedWith: []
} as const

export const mirrordProfiles: CustomResource<Profile> = {
  ...common,
  kind: "MirrordProfile",
  plural: "mirrordprofiles",
  scope: "Namespaced",
  description: "Settings that sessions in this namespace can choose."
}

export const mirrordClusterProfiles: CustomResource<Profile> = {
  ...common,
  kind: "MirrordClusterProfile",
  plural: "mirrordclusterprofiles",
  scope: "Cluster",
  description: "Settings that sessions in this cluster can choose."
}

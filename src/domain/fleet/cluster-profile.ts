/**
 * Clusters of `ClusterProfile` objects (SIG Multicluster, KEP-4322): which of them can be used, and by which access
 * provider (KEP-5339).
 *
 * Not here: finding them (app/fleet/cluster-profiles.ts), and the programs behind the providers (access-providers.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { quoted } from "../clean-text.ts"
import { asObject, asObjects, asString, at, type JsonObject } from "../json.ts"
import { keptBy } from "../resources/kept-fields.ts"
import { isBeingDeleted, ObjectMeta } from "../resources/object-meta.ts"
import type { WatchedResource } from "../resources/resource-descriptor.ts"
import type { AccessProvider } from "./access-providers.ts"
import { readClusterFields } from "./kubeconfig.ts"
import type { ProvidedCluster } from "./provided-clusters.ts"

const ClusterProfile = Schema.Struct({ metadata: ObjectMeta })
type ClusterProfile = typeof ClusterProfile.Type

const offered = Schema.optionalKey(Schema.Unknown)
const OfferingProfile = Schema.Struct({
  metadata: ObjectMeta,
  status: Schema.optionalKey(Schema.Struct({ credentialProviders: offered, accessProviders: offered }))
})

export const clusterProfiles: WatchedResource<ClusterProfile> = {
  group: "multicluster.x-k8s.io",
  version: "v1alpha1",
  kind: "ClusterProfile",
  plural: "clusterprofiles",
  scope: "Namespaced",
  schema: ClusterProfile,
  keeps: keptBy(OfferingProfile)
}

/** Name of the extension whose content a plugin gets, as in kubeconfigs. */
const execExtension = "client.authentication.k8s.io/exec"

/** An entry of `accessProviders`. */
interface Offer {
  readonly name: string
  readonly cluster: JsonObject
}

/** The offers of a profile. Those in the older field `credentialProviders` count as well, unless both have the name. */
const offersOf = (profile: object): ReadonlyArray<Offer> => {
  const offers = new Map<string, Offer>()
  for (const field of ["credentialProviders", "accessProviders"])
    for (const { cluster, name } of asObjects(at(profile, "status", field))) {
      const text = asString(name) ?? ""
      offers.set(text, { name: text, cluster: asObject(cluster) })
    }
  return [...offers.values()]
}

const memberOf = (
  offers: ReadonlyArray<Offer>,
  providers: ReadonlyArray<Pick<AccessProvider, "name">>
): Result.Result<Omit<ProvidedCluster["member"], "problems">, string> =>
  Result.gen(function* () {
    // The administrator's order counts, as for cluster-inventory-api.
    const [offer] = providers.flatMap(({ name }) => offers.find((one) => one.name === name) ?? [])
    if (offer === undefined) {
      const names = offers.map(({ name }) => quoted(name)).join(", ")
      return yield* Result.fail(
        `it offers access by ${names} alone, which operator.multiCluster.accessProviders does not name; add one of ` +
          "them there, with the program that gives its credentials"
      )
    }
    const fields = yield* Result.mapError(
      readClusterFields(offer.cluster),
      (problem) => `its access provider ${quoted(offer.name)} is unusable: ${problem}`
    )
    const extension = asObjects(offer.cluster["extensions"]).find(({ name }) => name === execExtension)?.["extension"]
    const config = extension === undefined || extension === null ? undefined : JSON.stringify(extension)
    return { ...fields, namespace: undefined, auth: { _tag: "ExecPlugin", provider: offer.name, config } }
  })

/**
 * The cluster of a profile; undefined while nothing offers access to it, as before it is registered, or if it is being
 * deleted. `providers`: those that the administrator allows. Nothing else of a profile is used: neither its additional
 * arguments nor its additional variables (KEP-5339's policy `Ignore`).
 */
export const profileCluster = (
  profile: ClusterProfile,
  providers: ReadonlyArray<Pick<AccessProvider, "name">>
): ProvidedCluster | undefined => {
  const { name, namespace = "" } = profile.metadata
  const offers = offersOf(profile)
  if (offers.length === 0 || isBeingDeleted(profile.metadata)) return undefined
  const from = `ClusterProfile ${namespace}/${name}`
  const read = memberOf(offers, providers)
  if (Result.isSuccess(read)) return { from, name, member: { ...read.success, problems: [] } }
  const auth = { _tag: "ExecPlugin", provider: "", config: undefined } as const
  const problems = [`${from} is unusable: ${read.failure}.`]
  return { from, name, member: { server: "", namespace: undefined, certificateAuthority: undefined, auth, problems } }
}

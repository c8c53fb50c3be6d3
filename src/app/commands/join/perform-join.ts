/**
 * Writes what a join needs at the primary: first the Secret, so that the operator has the credentials when it takes up
 * the entry. A failure names all that was written before it.
 *
 * Not here: the decisions (domain/commands/join).
 */

import { Effect } from "effect"
import { stringify } from "yaml"
import type { CredentialsStep } from "../../../domain/commands/join/credentials-step.ts"
import type { EntryStep } from "../../../domain/commands/join/join-plan.ts"
import { type ClusterName, credentialsSecretName } from "../../../domain/fleet/cluster-name.ts"
import { credentialsLabel } from "../../../domain/fleet/credentials/cluster-auth.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { configMaps, secrets } from "../../../domain/resources/core-kinds.ts"
import type { KubeError } from "../../../ports/kube-api.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import type { Unanswered } from "../overview/ask-cluster.ts"
import { failedDoing, type Primary } from "./primary.ts"

/** One write. `done`: the sentence that reports it. */
export interface Write {
  readonly doing: string
  readonly done: string
  readonly call: Effect.Effect<unknown, KubeError>
}

/** The text of a file in the ConfigMap of a primary. */
export const listText = (clusters: JsonObject): string => stringify(clusters, { lineWidth: 0 })

/** Carries writes out in order. The failure of one ends them, and names those that were done. */
export const perform = (writes: ReadonlyArray<Write>): Effect.Effect<ReadonlyArray<string>, Unanswered> => {
  const done: Array<string> = []
  return Effect.forEach(writes, (write) =>
    write.call.pipe(
      Effect.map(() => void done.push(write.done)),
      Effect.mapError((error) => {
        const { fix, message } = failedDoing(write.doing, error)
        const before = done.length === 0 ? "Nothing was written before that." : `Done before that: ${done.join(" ")}`
        return { message: `${message} ${before}`, fix }
      })
    )
  ).pipe(Effect.as(done))
}

/** The Secret with the credentials for a member. `content`: its `data` or `stringData`. */
export const secretManifest = (namespace: string, cluster: ClusterName, content: JsonObject) => ({
  apiVersion: "v1",
  kind: "Secret",
  type: "Opaque",
  metadata: {
    name: credentialsSecretName(cluster, sha256Hex),
    namespace,
    labels: { [credentialsLabel]: "true" }
  },
  ...content
})

/** The steps that are to be written. */
export interface JoinWrites {
  readonly cluster: ClusterName
  readonly entry: EntryStep
  /** The Secret's step and its data; `undefined` for a cluster that needs no Secret. */
  readonly secret: { readonly step: CredentialsStep; readonly data: JsonObject } | undefined
}

const secretWrites = (
  { api, namespace }: Pick<Primary, "api" | "namespace">,
  { cluster, secret }: JoinWrites
): ReadonlyArray<Write> => {
  if (secret === undefined || secret.step._tag === "Kept" || secret.step._tag === "Refused") return []
  const manifest = secretManifest(namespace, cluster, { data: secret.data })
  const { name } = manifest.metadata
  const place = `Secret ${namespace}/${name}`
  return secret.step._tag === "Create"
    ? [
        {
          doing: `making ${place}`,
          done: `${place} was made.`,
          call: api.create(secrets, manifest, namespace)
        }
      ]
    : [
        {
          doing: `writing ${place}`,
          done: `${place} has other credentials now.`,
          call: api.mergePatch(secrets, name, manifest, { namespace })
        }
      ]
}

/** The write of a cluster's entry; none if it is there, or comes with an upgrade of the release. */
export const entryWrites = (
  { api, namespace, sources: { clustersKey, configMap } }: Pick<Primary, "api" | "namespace" | "sources">,
  { cluster, entry }: Omit<JoinWrites, "secret">
): ReadonlyArray<Write> => {
  if (entry._tag !== "Add" || clustersKey === undefined) return []
  const { name, resourceVersion } = configMap.metadata
  const place = `${clustersKey} of ConfigMap ${namespace}/${name}`
  const data = { [clustersKey]: listText(entry.clusters) }
  return [
    {
      doing: `adding cluster ${cluster} to ${place}`,
      done: `Cluster ${cluster} was added to ${place}.`,
      // The version refuses a list that has changed since it was read.
      call: api.mergePatch(configMaps, name, { metadata: { resourceVersion }, data }, { namespace })
    }
  ]
}

/** The writes of a join, in order; none if all is as it should be. */
export const joinWrites = (primary: Primary, writes: JoinWrites): ReadonlyArray<Write> => [
  ...secretWrites(primary, writes),
  ...entryWrites(primary, writes)
]

/** `identity a one`: a cluster has an identity from now on, or another one, as if another cluster were in its place. */

import { Result } from "effect"
import { sha256Hex } from "../../../../src/app/kernel/sha256-hex.ts"
import { identityNamespace, pinsName } from "../../../../src/domain/fleet/cluster-identity.ts"
import { clusterName, clusterSlug } from "../../../../src/domain/fleet/cluster-name.ts"
import { configMaps, namespaces } from "../../../../src/domain/resources/core-kinds.ts"
import { operatorNamespace } from "../../world/operator-replica.ts"
import { nothingHappens, withCluster } from "../scene.ts"
import type { StoryRun, Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

/** An administrator runs the command that a refused cluster's sentence names. */
const forget = ({ world }: StoryRun, cluster: string): void => {
  const data = { [clusterSlug(clusterName(cluster), sha256Hex)]: null }
  world.primary.server.objects.write(configMaps, pinsName, { data }, { namespace: operatorNamespace, now: world.now })
}

export const identity: Verb = {
  name: "identity",
  usage: "identity <cluster> <uid> | identity <cluster> forgotten",
  summary:
    "The namespace kube-system of a cluster has this UID from now on; without such a line a cluster tells no " +
    "identity. forgotten: an administrator forgets which one is pinned.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const uid = yield* nameWord(second, "a UID")
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ server: { objects } }) => {
          if (uid === "forgotten") return forget(run, cluster)
          const known = objects.peek(namespaces, identityNamespace)
          if (known?.metadata.uid === uid) return nothingHappens(run, `${cluster} has this identity already`)
          if (known !== undefined) run.fault("another cluster", `another cluster answers in place of ${cluster}`)
          objects.write(namespaces, identityNamespace, {}, { namespace: undefined, now: run.world.now })
          objects.write(namespaces, identityNamespace, { metadata: { uid } })
        })
    })
}

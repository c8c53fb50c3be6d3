/** `claim b other`: another primary holds a member, as if its child had been the first one there. */

import { Result } from "effect"
import { leases } from "../../../../src/domain/resources/core-kinds.ts"
import { primaryLeaseName } from "../../../../src/domain/sessions/primary-claim.ts"
import { operatorNamespace } from "../../world/operator-replica.ts"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const claim: Verb = {
  name: "claim",
  usage: "claim <cluster> <uid> | claim <cluster> nobody",
  summary: "A cluster serves the primary of this UID from now on. nobody: an administrator deletes the Lease.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const holder = yield* nameWord(second, "a UID")
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ server: { objects } }) => {
          if (holder === "nobody") return objects.erase(leases, primaryLeaseName, operatorNamespace)
          run.fault("another primary", `${cluster} serves the primary ${holder}`)
          const spec = { holderIdentity: holder }
          objects.write(leases, primaryLeaseName, { spec }, { namespace: operatorNamespace, now: run.world.now })
        })
    })
}

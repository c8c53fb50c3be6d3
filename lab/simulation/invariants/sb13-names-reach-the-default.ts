/** S-B13 (failures.md §1.24). Names may name a customer or of a secret project. */

import { asString, at } from "../../../src/domain/json.ts"
import type { Invariant } from "./invariant.ts"
import { defaultOf } from "./session-objects.ts"

export const namesReachTheDefault: Invariant = {
  id: "S-B13",
  ofBranches: true,
  sentence: "The names of a session's branches reach the default cluster, and no other member.",
  begin: (world) => ({
    on: (event) => {
      if (event._tag !== "Called" || event.call.verb !== "link") return undefined
      const { body, to } = event.call
      const hasNames = (asString(at(body, "query")) ?? "").includes("_branch_names=")
      const client = [...world().clients.values()].find(({ sessionId }) => String(sessionId) === event.call.name)
      const defaultCluster = client === undefined ? world().defaultCluster : defaultOf(world(), client)
      if (hasNames) return to === defaultCluster ? undefined : `${event.process} tells ${to} the names of branches.`
      return client !== undefined && client.branches.length > 0 && to === defaultCluster
        ? `${event.process} does not tell ${to} which branches ${client.name} uses.`
        : undefined
    }
  })
}

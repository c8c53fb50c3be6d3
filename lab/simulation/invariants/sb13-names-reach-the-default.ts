/** S-B13 (failures.md §1.24). Names may name a customer or of a secret project. */

import { asString, at } from "../../../src/domain/json.ts"
import { branchRule } from "./branch-history.ts"
import { defaultOf } from "./session-objects.ts"

export const namesReachTheDefault = branchRule({
  id: "S-B13",
  sentence: "The names of a session's branches reach the default cluster, and no other member.",
  begin: (world) => ({
    on: {
      Called: ({ call: { body, name, to, verb }, process }) => {
        if (verb !== "link") return undefined
        const hasNames = (asString(at(body, "query")) ?? "").includes("_branch_names=")
        const client = [...world().clients.values()].find(({ sessionId }) => String(sessionId) === name)
        const defaultCluster = client === undefined ? world().defaultCluster : defaultOf(world(), client)
        if (hasNames) return to === defaultCluster ? undefined : `${process} tells ${to} the names of branches.`
        return client !== undefined && client.branches.length > 0 && to === defaultCluster
          ? `${process} does not tell ${to} which branches ${client.name} uses.`
          : undefined
      }
    }
  })
})

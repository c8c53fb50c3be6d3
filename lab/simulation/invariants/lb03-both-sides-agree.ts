/** L-B3 (failures.md §2.9). A copy without origin that a session uses is left to its TTL. */

import { at } from "../../../src/domain/json.ts"
import { phaseOfBranch } from "../world/branch-order.ts"
import type { World } from "../world/world.ts"
import {
  branchesIn,
  branchPath,
  branchRule,
  comparable,
  copyReference,
  marksOf,
  primaryUid,
  sessionsOf
} from "./branch-history.ts"
import { mayAct, ordering } from "./branch-operators.ts"

/** The ways in which the branches of a primary and of the default cluster differ. */
const disagreements = (world: World, primary: string): ReadonlyArray<string> => {
  const { clusters, defaultCluster } = world
  const uid = primaryUid(world, primary)
  const origins = new Map(branchesIn(world.cluster(primary)).map((origin) => [origin.metadata.uid, origin]))
  const copies = [...clusters.values()].flatMap((cluster) =>
    cluster.name === primary || cluster.host.isGone || !world.isInFleet(cluster.name)
      ? []
      : branchesIn(cluster).flatMap((copy) => {
          const marks = marksOf(copy)
          if (marks?.cluster !== uid || cluster.name !== defaultCluster) return []
          const origin = origins.get(marks?.uid)
          const what = `The copy ${branchPath(copy)} in ${cluster.name}`
          if (origin === undefined) return sessionsOf(copy).length > 0 ? [] : [`${what} has no origin.`]
          return comparable(at(origin, "spec")) === comparable(at(copy, "spec"))
            ? []
            : [`${what} has another spec than its origin.`]
        })
  )
  const alone = [...origins.values()].flatMap((origin) => {
    const copy = copyReference(origin)
    const isThere = copy === undefined || clusters.get(copy.cluster)?.server.objects.has(copy.uid) === true
    return isThere || phaseOfBranch(origin) === "Failed" ? [] : [`The origin ${branchPath(origin)} has no copy.`]
  })
  return [...copies, ...alone]
}

export const bothSidesAgree = branchRule({
  id: "L-B3",
  sentence: "At rest each copy has its origin, with the same spec, and each origin its copy.",
  begin: (world) => ({
    atRest: () =>
      ordering(world())
        .filter((primary) => mayAct(world(), primary))
        .flatMap((primary) => disagreements(world(), primary))
  })
})

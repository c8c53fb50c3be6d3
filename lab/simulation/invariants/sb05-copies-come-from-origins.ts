/** S-B5 (failures.md §1.17), checked on what the primary's operator sends. */

import { at } from "../../../src/domain/json.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { branchHistory, comparable, isBranchCall, isOrdering, marksOf } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

export const copiesComeFromOrigins: Invariant = {
  id: "S-B5",
  ofBranches: true,
  sentence: "A copy is made of an origin that there was, with its spec; no operator changes the spec of an origin.",
  begin: (world) => {
    const history = branchHistory(world)
    return {
      on: (event) => {
        history.take(event)
        if (event._tag !== "Called" || !isBranchCall(event.call)) return undefined
        const { body, name, operator, subresource, to, verb } = event.call
        if (verb === "patch" && to === operator && subresource !== "status")
          return `${event.process} changes the branch ${name} in ${to}, which its user has ordered.`
        if (verb !== "create" || !isOrdering(world(), operator)) return undefined
        const copy = body as KubeObject
        const origin = history.records.get(marksOf(copy)?.uid ?? "")
        if (origin === undefined || origin.cluster !== operator)
          return `${event.process} makes the branch ${name} in ${to} of an origin that there never was.`
        return origin.specs.has(comparable(at(copy, "spec")))
          ? undefined
          : `${event.process} makes the branch ${name} in ${to} with a spec that its origin never had.`
      }
    }
  }
}

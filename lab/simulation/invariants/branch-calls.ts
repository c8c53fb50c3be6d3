/**
 * Rules about what operators ask of API servers about branches of databases (S-B5, S-B7 to S-B9, S-B16; failures.md
 * §1.17, §1.19 to §1.21, §1.27), checked on the calls themselves.
 */

import { at } from "../../../src/domain/json.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { phaseOfBranch, skipSyncLabel } from "../world/branch-order.ts"
import type { PortCall } from "../world/world-event.ts"
import type { World } from "../world/world.ts"
import {
  type BranchHistory,
  type BranchRecord,
  branchRule,
  calledBranch,
  comparable,
  copyReference,
  isBranchCall,
  isOrdering,
  marksOf,
  namedUid,
  primaryUid
} from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

/** How long the news of a deletion may take, ms: with and without faults. */
const newsTakes = { faulty: 400_000, well: 5_000 } as const

const writes: ReadonlySet<PortCall["verb"]> = new Set(["create", "patch", "delete"] as const)

/** A write of an operator about a branch. */
interface BranchCall {
  readonly at: number
  readonly call: PortCall
  readonly history: BranchHistory
  /** Whether the operator is a primary that orders branches in another cluster. */
  readonly isOfOrdering: boolean
  /** For sentences: `<process> <deed> the branch <name>`. */
  readonly says: (deed: string) => string
  readonly world: World
}

/** `judge` gives the sentence about a call that breaks the rule. */
const aboutCalls = (id: string, sentence: string, judge: (call: BranchCall) => string | undefined): Invariant =>
  branchRule({
    id,
    sentence,
    begin: (world, history) => ({
      on: {
        Called: ({ at, call, process }) =>
          isBranchCall(call) && writes.has(call.verb)
            ? judge({
                at,
                call,
                history,
                isOfOrdering: isOrdering(world(), call.operator),
                says: (deed) => `${process} ${deed} the branch ${call.name}`,
                world: world()
              })
            : undefined
      }
    })
  })

/** The branch that a copy names as its origin, if it was ever there. */
const originOf = ({ call, history }: BranchCall): BranchRecord | undefined =>
  history.records.get(marksOf(call.body as KubeObject)?.uid ?? "")

/** Whether a primary makes a copy. */
const isCopying = ({ call, isOfOrdering }: BranchCall): boolean => call.verb === "create" && isOfOrdering

export const copiesComeFromOrigins = aboutCalls(
  "S-B5",
  "Every copy is created from an existing origin, with that origin's spec; no operator changes the spec of an origin.",
  (made) => {
    const { body, operator, subresource, to, verb } = made.call
    if (verb === "patch" && to === operator && subresource !== "status")
      return `${made.says("changes")} in ${to}, which its user has ordered.`
    if (!isCopying(made)) return undefined
    const origin = originOf(made)
    if (origin === undefined || origin.cluster !== operator)
      return `${made.says("makes")} in ${to} of an origin that there never was.`
    return origin.specs.has(comparable(at(body, "spec")))
      ? undefined
      : `${made.says("makes")} in ${to} with a spec that its origin never had.`
  }
)

const hasObject = (world: World, cluster: string, uid: string): boolean =>
  world.clusters.get(cluster)?.server.objects.has(uid) === true

/** A UID never comes back, so a delete that is right when it is carried out was right when it was sent. */
export const deletesAreCertain = aboutCalls(
  "S-B7",
  "Each delete of a branch names its UID; a copy is deleted only when its origin is gone, and an origin that has " +
    "not failed only when its copy is gone.",
  ({ call, isOfOrdering, says, world }) => {
    if (call.verb !== "delete") return undefined
    const what = `${says("deletes")} in ${call.to}`
    if (namedUid(call) === undefined) return `${what} without a UID.`
    const branch = calledBranch(world, call)
    if (branch === undefined || !isOfOrdering) return undefined
    if (call.to !== call.operator) {
      const origin = marksOf(branch)?.uid
      return origin !== undefined && hasObject(world, call.operator, origin)
        ? `${what}, whose origin is there.`
        : undefined
    }
    const copy = copyReference(branch)
    if (phaseOfBranch(branch) === "Failed") return undefined
    if (copy === undefined) return `${what}, which has not failed, and of which no copy is known.`
    return hasObject(world, copy.cluster, copy.uid) ? `${what}, whose copy in ${copy.cluster} is there.` : undefined
  }
)

export const localBranchesStay = aboutCalls(
  "S-B8",
  "No branch that is for the primary's own cluster alone is copied.",
  (made) =>
    isCopying(made) && originOf(made)?.object.metadata.labels?.[skipSyncLabel] === "true"
      ? `${made.says("copies")}, which has the label ${skipSyncLabel}.`
      : undefined
)

/**
 * An order may be under way while its origin is deleted, and a process knows of a deletion only when it has heard of
 * it, which faults delay.
 */
export const deletedStaysDeleted = aboutCalls(
  "S-B9",
  "No copy is made of an origin that is known to be deleted, nor a second one of an origin that had one.",
  (made) => {
    const origin = isCopying(made) ? originOf(made) : undefined
    if (origin === undefined) return undefined
    const patience = made.at - made.history.faultAt < newsTakes.faulty ? newsTakes.faulty : newsTakes.well
    if (origin.goneAt !== undefined)
      return made.at - origin.goneAt > patience
        ? `${made.says("makes")}, whose origin was deleted long ago.`
        : undefined
    return copyReference(origin.object) === undefined
      ? undefined
      : `${made.says("makes")} once more, whose origin had a copy.`
  }
)

export const borrowedBranchesAreLeft = aboutCalls(
  "S-B16",
  "A primary changes and deletes in its default cluster only the branches that it has made there.",
  ({ call, isOfOrdering, says, world }) => {
    const { operator, subresource, to, verb } = call
    if ((verb !== "patch" && verb !== "delete") || to === operator || !isOfOrdering) return undefined
    if (subresource === "status") return `${says("writes the status of")} in ${to}.`
    const branch = calledBranch(world, call)
    if (branch === undefined || marksOf(branch)?.cluster === primaryUid(world, operator)) return undefined
    return `${says(verb === "patch" ? "changes" : "deletes")} in ${to} of somebody else.`
  }
)

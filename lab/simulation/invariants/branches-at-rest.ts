/**
 * Rules about each branch of databases at rest (L-B1, L-B2, L-B5; failures.md §2.7, §2.8, §2.11), where operators are
 * there that can act: a branch that waits for a cluster without an operator waits for a person.
 */

import { timeOf } from "../../../src/domain/resources/object-meta.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { phaseOfBranch } from "../world/branch-order.ts"
import type { World } from "../world/world.ts"
import {
  branchesIn,
  type BranchHistory,
  branchPath,
  branchRule,
  isOrdering,
  marksOf,
  primaryUid
} from "./branch-history.ts"
import { mayAct, maySync } from "./branch-operators.ts"
import type { Invariant } from "./invariant.ts"

/** How long a branch may take where nothing is wrong, ms. */
const decided = 60_000
/** The longest TTL of a story and a new leader's grace, ms. */
const unused = 500_000
/** How long a failure may stay, ms. */
const failed = 30_000

/** A branch as it is at rest. */
interface Resting {
  readonly age: number
  readonly branch: KubeObject
  readonly cluster: string
  readonly history: BranchHistory
  readonly moment: "healed" | "left"
  readonly phase: string | undefined
  /** For sentences: `<path> in <cluster>`. */
  readonly what: string
  readonly world: World
}

/** `judge` gives the sentence about a branch that breaks the rule. */
const atRest = (id: string, sentence: string, judge: (resting: Resting) => string | undefined): Invariant =>
  branchRule({
    id,
    sentence,
    begin: (world, history) => ({
      atRest: (moment) =>
        [...world().clusters.values()].flatMap((place) => {
          if (!mayAct(world(), place.name)) return []
          return branchesIn(place).flatMap((branch) => {
            const age = world().now - (timeOf(branch.metadata.creationTimestamp) ?? 0)
            const [cluster, phase] = [place.name, phaseOfBranch(branch)]
            const what = `${branchPath(branch)} in ${cluster}`
            return judge({ age, branch, cluster, history, moment, phase, what, world: world() }) ?? []
          })
        })
    })
  })

export const branchesAreDecided = atRest(
  "L-B1",
  "At rest each branch is Ready or Failed.",
  ({ age, cluster, phase, what, world }) =>
    phase === "Ready" || phase === "Failed" || age < decided
      ? undefined
      : `The ${isOrdering(world, cluster) ? "origin" : "branch"} ${what} is ${phase ?? "without a phase"}.`
)

export const unusedBranchesGo = atRest(
  "L-B2",
  "An unused branch is gone in all clusters after its TTL and a grace.",
  ({ age, branch, moment, phase, what, world }) => {
    if (moment === "healed" || age < unused) return undefined
    // A copy that has failed stays longer where its primary is away, whose users are to read why.
    const marks = marksOf(branch)
    const isOfPrimary = marks?.cluster === primaryUid(world) && !world.primary.host.isGone
    const isKept = marks !== undefined && phase === "Failed" && !isOfPrimary
    return isKept ? undefined : `The branch ${what} is still there: ${phase}.`
  }
)

export const failedNamesAreFreed = atRest(
  "L-B5",
  "At rest no branch has been Failed for more than 30 seconds.",
  ({ branch, cluster, history, phase, what, world }) => {
    // The primary of a copy deletes it, and its own cluster does so if that is away for long.
    const marks = marksOf(branch)
    const isOurs = marks?.cluster === primaryUid(world) && cluster === world.defaultCluster
    const isItsTurn = marks === undefined || (isOurs && maySync(world))
    const since = history.of(branch)?.phaseAt ?? 0
    return phase === "Failed" && isItsTurn && world.now - since > failed
      ? `The branch ${what} has been Failed for too long.`
      : undefined
  }
)

/**
 * The rules about branches of databases, in the order in which they are asked (S-B1 to L-B7). They are asked only in
 * worlds with branches. S-B11, no credential told, is S8.
 */

import {
  borrowedBranchesAreLeft,
  copiesComeFromOrigins,
  deletedStaysDeleted,
  deletesAreCertain,
  localBranchesStay
} from "./branch-calls.ts"
import { phasesGoForward, readyBranchesServe, statusIsRepeated } from "./branch-changes.ts"
import {
  branchPartsAreOwned,
  imagesAreAllowed,
  onePodPerBranch,
  sourcesAreOnlyRead,
  targetsSecretsAlone
} from "./branch-pods.ts"
import { branchesAreDecided, failedNamesAreFreed, unusedBranchesGo } from "./branches-at-rest.ts"
import type { Invariant } from "./invariant.ts"
import { bothSidesAgree } from "./lb03-both-sides-agree.ts"
import { statusComesSoon } from "./lb04-status-comes-soon.ts"
import { branchesRest } from "./lb06-branches-rest.ts"
import { ordersAreAnswered } from "./lb07-orders-are-answered.ts"
import { sourcesAreNotReached } from "./sb02-sources-are-not-reached.ts"
import { usedBranchesStay } from "./sb03-used-branches-stay.ts"
import { namesReachTheDefault } from "./sb13-names-reach-the-default.ts"

export const branchInvariants: ReadonlyArray<Invariant> = [
  sourcesAreNotReached,
  usedBranchesStay,
  onePodPerBranch,
  copiesComeFromOrigins,
  statusIsRepeated,
  deletesAreCertain,
  localBranchesStay,
  deletedStaysDeleted,
  sourcesAreOnlyRead,
  imagesAreAllowed,
  namesReachTheDefault,
  readyBranchesServe,
  phasesGoForward,
  borrowedBranchesAreLeft,
  targetsSecretsAlone,
  branchPartsAreOwned,
  branchesAreDecided,
  unusedBranchesGo,
  bothSidesAgree,
  statusComesSoon,
  failedNamesAreFreed,
  branchesRest,
  ordersAreAnswered
]

/**
 * The rules about branches of databases, in the order in which they are asked (S-B1 to L-B7). They are asked only in
 * worlds with branches. S-B11, no credential told, is S8.
 */

import type { Invariant } from "./invariant.ts"
import { branchesAreDecided } from "./lb01-branches-are-decided.ts"
import { unusedBranchesGo } from "./lb02-unused-branches-go.ts"
import { bothSidesAgree } from "./lb03-both-sides-agree.ts"
import { statusComesSoon } from "./lb04-status-comes-soon.ts"
import { failedNamesAreFreed } from "./lb05-failed-names-are-freed.ts"
import { branchesRest } from "./lb06-branches-rest.ts"
import { ordersAreAnswered } from "./lb07-orders-are-answered.ts"
import { branchPartsAreOwned } from "./sb01-branch-parts-are-owned.ts"
import { sourcesAreNotReached } from "./sb02-sources-are-not-reached.ts"
import { usedBranchesStay } from "./sb03-used-branches-stay.ts"
import { onePodPerBranch } from "./sb04-one-pod-per-branch.ts"
import { copiesComeFromOrigins } from "./sb05-copies-come-from-origins.ts"
import { statusIsRepeated } from "./sb06-status-is-repeated.ts"
import { deletesAreCertain } from "./sb07-deletes-are-certain.ts"
import { localBranchesStay } from "./sb08-local-branches-stay.ts"
import { deletedStaysDeleted } from "./sb09-deleted-stays-deleted.ts"
import { sourcesAreOnlyRead } from "./sb10-sources-are-only-read.ts"
import { imagesAreAllowed } from "./sb12-images-are-allowed.ts"
import { namesReachTheDefault } from "./sb13-names-reach-the-default.ts"
import { readyBranchesServe } from "./sb14-ready-branches-serve.ts"
import { phasesGoForward } from "./sb15-phases-go-forward.ts"
import { borrowedBranchesAreLeft } from "./sb16-borrowed-branches-are-left.ts"
import { targetsSecretsAlone } from "./sb17-targets-secrets-alone.ts"

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

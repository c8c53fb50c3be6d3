/**
 * All invariants, in the order in which they are asked. Each has a file of its own, whose name begins with its code,
 * and a paragraph in docs/concepts/failures.md.
 */

import { branchInvariants } from "./branch-invariants.ts"
import type { Invariant } from "./invariant.ts"
import { desiredIsActual } from "./l01-desired-is-actual.ts"
import { deadSessionsGo } from "./l02-dead-sessions-go.ts"
import { leftoversAreOwed } from "./l03-leftovers-are-owed.ts"
import { credentialsFresh } from "./l04-credentials-fresh.ts"
import { clientsComeBack } from "./l05-clients-come-back.ts"
import { queuesDrain } from "./l06-queues-drain.ts"
import { ledger } from "./ledger.ts"
import { strictClient } from "./n01-strict-client.ts"
import { noDefects } from "./n02-no-defects.ts"
import { heartbeats } from "./n03-heartbeats.ts"
import { restIsQuiet } from "./n04-rest-is-quiet.ts"
import { readyIsComplete } from "./n05-ready-is-complete.ts"
import { noFlipFlop } from "./n06-no-flip-flop.ts"
import { requestsAnswered } from "./n07-requests-answered.ts"
import { noHammering } from "./n08-no-hammering.ts"
import { ownFieldsOnly } from "./n09-own-fields-only.ts"
import { oneAgentPerPod } from "./n10-one-agent-per-pod.ts"
import { namesAreValid } from "./n11-names-are-valid.ts"
import { retryAfter } from "./n12-retry-after.ts"
import { onlyLeadersAct } from "./n13-only-leaders-act.ts"
import { oneLabelledLeader } from "./n14-one-labelled-leader.ts"
import { readyCarries } from "./n15-ready-carries.ts"
import { replicasKept } from "./n16-replicas-kept.ts"
import { copiesEnd } from "./n17-copies-end.ts"
import { policiesHold } from "./n18-policies-hold.ts"
import { firstWord } from "./n19-first-word.ts"
import { tokensInTime } from "./n20-tokens-in-time.ts"
import { renewalIsQuiet } from "./n21-renewal-is-quiet.ts"
import { renewalsAreSpread } from "./n22-renewals-are-spread.ts"
import { oneOwnerActs } from "./n23-one-owner-acts.ts"
import { eachMemberIsOwned } from "./n24-each-member-is-owned.ts"
import { foundClustersStay } from "./n25-found-clusters-stay.ts"
import { lastCredentialsServe } from "./n26-last-credentials-serve.ts"
import { unreadIsTold } from "./n27-unread-is-told.ts"
import { oneRouterEpoch } from "./s01-one-router-epoch.ts"
import { statefulToDefaultOnce } from "./s02-stateful-to-default-once.ts"
import { oneOwnerPerId } from "./s03-one-owner-per-id.ts"
import { oneAnswerInOrder } from "./s04-one-answer-in-order.ts"
import { childAfterParent } from "./s05-child-after-parent.ts"
import { noDeleteWithoutAList } from "./s06-no-delete-without-a-list.ts"
import { noDeleteInUse } from "./s07-no-delete-in-use.ts"
import { noSecretsTold } from "./s08-no-secrets-told.ts"
import { readyForWhatIsSeen } from "./s09-ready-for-what-is-seen.ts"
import { noCallFromTheDead } from "./s10-no-call-from-the-dead.ts"
import { rightCluster } from "./s11-right-cluster.ts"
import { onePrimary } from "./s12-one-primary.ts"
import { tunnelInvariants } from "./tunnel-invariants.ts"

/** All that must hold in every story; the first to break is reported. */
export const invariants: ReadonlyArray<Invariant> = [
  // Rules that must never be broken.
  noDefects,
  strictClient,
  oneRouterEpoch,
  statefulToDefaultOnce,
  oneOwnerPerId,
  oneAnswerInOrder,
  childAfterParent,
  noDeleteWithoutAList,
  noDeleteInUse,
  noSecretsTold,
  readyForWhatIsSeen,
  noCallFromTheDead,
  rightCluster,
  onePrimary,
  onlyLeadersAct,
  readyIsComplete,
  readyCarries,
  noFlipFlop,
  noHammering,
  ownFieldsOnly,
  oneAgentPerPod,
  namesAreValid,
  retryAfter,
  replicasKept,
  copiesEnd,
  policiesHold,
  firstWord,
  tokensInTime,
  renewalIsQuiet,
  renewalsAreSpread,
  oneOwnerActs,
  foundClustersStay,
  lastCredentialsServe,
  unreadIsTold,
  // Rules that must hold once all is well.
  oneLabelledLeader,
  clientsComeBack,
  desiredIsActual,
  deadSessionsGo,
  leftoversAreOwed,
  credentialsFresh,
  requestsAnswered,
  queuesDrain,
  heartbeats,
  restIsQuiet,
  eachMemberIsOwned,
  ledger,
  ...branchInvariants,
  ...tunnelInvariants
]

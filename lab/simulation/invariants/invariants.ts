import type { Invariant } from "./invariant.ts"
import { desiredIsActual } from "./l1-desired-is-actual.ts"
import { deadSessionsGo } from "./l2-dead-sessions-go.ts"
import { leftoversAreOwed } from "./l3-leftovers-are-owed.ts"
import { credentialsFresh } from "./l4-credentials-fresh.ts"
import { clientsComeBack } from "./l5-clients-come-back.ts"
import { queuesDrain } from "./l6-queues-drain.ts"
import { ledger } from "./ledger.ts"
import { strictClient } from "./n1-strict-client.ts"
import { noDefects } from "./n2-no-defects.ts"
import { heartbeats } from "./n3-heartbeats.ts"
import { restIsQuiet } from "./n4-rest-is-quiet.ts"
import { readyIsComplete } from "./n5-ready-is-complete.ts"
import { noFlipFlop } from "./n6-no-flip-flop.ts"
import { requestsAnswered } from "./n7-requests-answered.ts"
import { noHammering } from "./n8-no-hammering.ts"
import { ownFieldsOnly } from "./n9-own-fields-only.ts"
import { oneAgentPerPod } from "./n10-one-agent-per-pod.ts"
import { namesAreValid } from "./n11-names-are-valid.ts"
import { retryAfter } from "./n12-retry-after.ts"
import { onlyLeadersAct } from "./n13-only-leaders-act.ts"
import { oneLabelledLeader } from "./n14-one-labelled-leader.ts"
import { oneRouterEpoch } from "./s1-one-router-epoch.ts"
import { statefulToDefaultOnce } from "./s2-stateful-to-default-once.ts"
import { oneOwnerPerId } from "./s3-one-owner-per-id.ts"
import { oneAnswerInOrder } from "./s4-one-answer-in-order.ts"
import { childAfterParent } from "./s5-child-after-parent.ts"
import { noDeleteWithoutAList } from "./s6-no-delete-without-a-list.ts"
import { noDeleteInUse } from "./s7-no-delete-in-use.ts"
import { noSecretsTold } from "./s8-no-secrets-told.ts"
import { readyForWhatIsSeen } from "./s9-ready-for-what-is-seen.ts"
import { noCallFromTheDead } from "./s10-no-call-from-the-dead.ts"

/** All that must hold in every story; the first that breaks is reported. */
export const invariants: ReadonlyArray<Invariant> = [
  // What must never happen.
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
  onlyLeadersAct,
  readyIsComplete,
  noFlipFlop,
  noHammering,
  ownFieldsOnly,
  oneAgentPerPod,
  namesAreValid,
  retryAfter,
  // What must be so once all is well.
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
  ledger
]

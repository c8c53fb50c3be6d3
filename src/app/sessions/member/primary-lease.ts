/**
 * Admits primaries to this cluster, and keeps the first one in a Lease beside the operator. The Lease is read for each
 * new child, so that its deletion is seen.
 *
 * Not here: the decision (domain/sessions/primary-claim.ts).
 */

import { Effect } from "effect"
import { asString, at } from "../../../domain/json.ts"
import { leases } from "../../../domain/resources/core-kinds.ts"
import type { MirrordClusterSession } from "../../../domain/resources/mirrord-cluster-session.ts"
import type { SessionFailure } from "../../../domain/resources/session-failure.ts"
import { ownerLabel } from "../../../domain/sessions/names.ts"
import { type ClaimVerdict, judgeClaim, primaryLeaseName, primaryOf } from "../../../domain/sessions/primary-claim.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"
import { clusterUid } from "../../kernel/cluster-uid.ts"
import { LogOnce } from "../../kernel/log-once.ts"
import { logInfo, logWarning } from "../../kernel/log.ts"
import { orIf } from "../../kernel/or-if.ts"

/** Why a child's primary may not use this cluster; `undefined` if it may. */
export type AdmitPrimary = (child: MirrordClusterSession) => Effect.Effect<SessionFailure | undefined, KubeError>

export interface PrimaryLeaseOptions {
  readonly api: KubeApi
  readonly namespace: string
  readonly mustTell: boolean
}

export const makeAdmitPrimary = ({ api, mustTell, namespace }: PrimaryLeaseOptions): AdmitPrimary => {
  const log = new LogOnce()
  let own: string | undefined
  const holder = api.get(leases, primaryLeaseName, namespace).pipe(
    Effect.map((lease) => asString(at(lease, "spec", "holderIdentity")) ?? ""),
    orIf("NotFound", Effect.undefined)
  )
  const record = (primary: string): Effect.Effect<void, KubeError> => {
    const metadata = { name: primaryLeaseName, namespace, labels: ownerLabel }
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: { holderIdentity: primary } }
    return Effect.andThen(api.create(leases, lease, namespace), logInfo("cluster serves a primary", { primary }))
  }
  const judge = Effect.fnUntraced(function* (primary: string | undefined): Effect.fn.Return<ClaimVerdict, KubeError> {
    own ??= yield* clusterUid(api)
    return judgeClaim({ primary, own, holder: yield* holder, mustTell, namespace })
  })
  const admit = Effect.fnUntraced(function* (
    primary: string | undefined
  ): Effect.fn.Return<SessionFailure | undefined, KubeError> {
    const verdict = yield* judge(primary)
    if (verdict._tag === "Refused") return verdict.failure
    if (verdict._tag === "Admitted") return undefined
    yield* record(verdict.primary)
    return undefined
  })
  return (child) => {
    const attempt = admit(primaryOf(child))
    return attempt.pipe(
      // Another primary may have been first.
      Effect.catch((error) => (error.reason === "AlreadyExists" ? attempt : Effect.fail(error))),
      // As with the role of an older chart: sessions must survive an upgrade of the operator alone.
      Effect.catch((error) => {
        if (error.reason !== "Forbidden") return Effect.fail(error)
        const line = logWarning("any primary is admitted: the right is missing", { problem: error.message })
        return Effect.as(log.tell("", line), undefined)
      })
    )
  }
}

/**
 * The primary that a member serves: the first one whose child is accepted is recorded in a Lease beside the member's
 * operator, by the UID of its namespace `kube-system`, and holds the cluster until an administrator deletes the Lease.
 *
 * Not here: reading and making the Lease (app/sessions/member/primary-lease.ts).
 */

import { quoted } from "../clean-text.ts"
import type { MirrordClusterSession } from "../resources/mirrord-cluster-session.ts"
import type { SessionFailure } from "../resources/session-failure.ts"
import { parentNameOf } from "./child-owner.ts"
import { childAnnotations } from "./names.ts"

/** Name of the Lease whose holder is the UID of the primary. */
export const primaryLeaseName = "mirrord-operator-primary"

/** A child whose primary is not admitted yet. */
export interface PrimaryClaim {
  /** UID of the child's primary; `undefined` if the primary sends none. */
  readonly primary: string | undefined
  /** UID of this cluster, where it is known. */
  readonly own: string | undefined
  /** UID of the primary that holds this cluster; `undefined` while it is free, empty if the Lease has no holder. */
  readonly holder: string | undefined
  /** Whether a primary must send its UID. */
  readonly mustTell: boolean
  /** Namespace of the Lease. */
  readonly namespace: string
}

export type ClaimVerdict =
  | { readonly _tag: "Admitted" }
  /** The cluster is free: this primary holds it from now on. */
  | { readonly _tag: "ToRecord"; readonly primary: string }
  | { readonly _tag: "Refused"; readonly failure: SessionFailure }

/** UID of a child's primary, as the primary says it. */
export const primaryOf = ({ metadata }: MirrordClusterSession): string | undefined =>
  metadata.annotations?.[childAnnotations.primaryUid]

/** Whether it has to be found out if a session's primary may use this cluster; users' own sessions have none. */
export const needsAdmission = (session: MirrordClusterSession, mustTell: boolean): boolean =>
  parentNameOf(session) !== undefined && (mustTell || primaryOf(session) !== undefined)

/** A UID as API servers make them, or a word in its place. */
const isUid = (text: string): boolean => /^[\w-]{1,64}$/u.test(text)

const refused = (message: string): ClaimVerdict => ({ _tag: "Refused", failure: { reason: "OtherPrimary", message } })

/** Judges whether a primary may have sessions in this cluster. A primary may always use its own cluster. */
export const judgeClaim = ({ holder, mustTell, namespace, own, primary }: PrimaryClaim): ClaimVerdict => {
  if (primary === undefined)
    return mustTell
      ? refused(
          "the primary does not say which cluster it is, as operator.multiClusterMemberRequirePrimary wants it here; " +
            "update the primary, and let its operator get the namespace kube-system"
        )
      : { _tag: "Admitted" }
  if (!isUid(primary))
    return refused(
      `the annotation ${childAnnotations.primaryUid} is ${quoted(primary)}; ` +
        "it must be the UID of the primary's namespace kube-system"
    )
  if (primary === own || primary === holder) return { _tag: "Admitted" }
  if (holder === undefined) return { _tag: "ToRecord", primary }
  return refused(
    isUid(holder)
      ? `this cluster serves the primary ${holder}, and not ${primary} (UIDs of their namespaces kube-system); ` +
          `\`kubectl delete lease ${primaryLeaseName} -n ${namespace}\` in it gives it to the next primary`
      : `the Lease ${primaryLeaseName} of this cluster names no primary in spec.holderIdentity, where ` +
          `${quoted(holder)} was found; \`kubectl delete lease ${primaryLeaseName} -n ${namespace}\` there gives ` +
          "the cluster to the next primary"
  )
}

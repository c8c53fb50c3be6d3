/**
 * Says in people's words why a check of a cluster failed, with the command that cures it or says more. The words stand
 * in lists, conditions, Events and sessions, always behind the cluster's name.
 *
 * Not here: missing rights (missing-right.ts), and credentials whose end or mistake is known (app/fleet).
 */

import type { ClusterName } from "./cluster-name.ts"
import type { ClusterAuth } from "./credentials/cluster-auth.ts"

/** A failed call to an API server, as far as it matters here. */
interface FailedCall {
  readonly reason: string
  /** HTTP status; missing if there was no answer. */
  readonly code?: number
  readonly detail: string
}

interface CheckedCluster {
  readonly name: ClusterName
  /** Missing for the primary's own cluster. */
  readonly auth: ClusterAuth["_tag"] | undefined
}

const refusal = "it refuses the primary's credentials (401)"

/** Whether a problem is that the cluster refuses the credentials, whose end says nothing then. */
export const isCredentialRefusal = (problem: string): boolean => problem.startsWith(refusal)

/** The command that says what is wrong, and what to do. */
const examined = ({ auth, name }: CheckedCluster): string =>
  auth === undefined ? "braid doctor says more" : `braid doctor --cluster ${name} says more`

/** `why`: a clause about refused credentials, with the cure, if it is known. */
const refusedCredentials = (cluster: CheckedCluster, why: string | undefined): string => {
  if (why !== undefined) return `${refusal}: ${why}`
  return cluster.auth === "BearerToken"
    ? `${refusal}: their account may be gone; braid join ${cluster.name} --apply --wait makes new ones`
    : `${refusal}; ${examined(cluster)}`
}

/** Why a check failed, as a clause. */
export const checkProblem = (cluster: CheckedCluster, call: FailedCall, why: string | undefined): string => {
  const { code, detail, reason } = call
  if (reason === "Unauthorized") return refusedCredentials(cluster, why)
  const more = examined(cluster)
  if (reason === "Unreachable") return `its API server cannot be reached (${detail}); ${more}`
  if (reason === "NotFound") return `it has no mirrord operator that answers (404); ${more}`
  if (code === 503) return `its API server does not reach the operator there (503: ${detail}); ${more}`
  return `its operator could not be asked (${code === undefined ? "" : `${code}: `}${detail}); ${more}`
}

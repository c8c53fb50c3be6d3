/**
 * The name under which an operator sends its requests. Nothing depends on it; it is for readers of audit logs.
 */

import type { OperatorPod } from "../../domain/leadership/identity.ts"

/**
 * The operator's User-Agent. It contains the pod, because all replicas are one user: the audit log of a cluster can
 * tell them apart by it.
 */
export const userAgentOf = (version: string, pod: OperatorPod | undefined): string =>
  pod === undefined ? `braid/${version}` : `braid/${version} (pod ${pod.name})`

import type { OperatorPod } from "../../domain/leadership/identity.ts"

/**
 * How an operator calls itself where it asks: the audit log of any cluster tells its replicas apart, which are one
 * user.
 */
export const userAgentOf = (version: string, pod: OperatorPod | undefined): string =>
  pod === undefined ? `braid/${version}` : `braid/${version} (pod ${pod.name})`

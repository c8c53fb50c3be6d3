/**
 * The mark of a pod by which a later change of its branch's spec is seen: the pod does not follow it, and sessions
 * would be sent to a database that is not there. Only what users choose counts, so that a newer operator with other
 * defaults takes no branch for changed.
 */

import type { Sha256Hex } from "../fleet/cluster-name.ts"
import type { BranchRequest } from "./branch-request.ts"

/** Annotation of a branch's pod. */
export const requestAnnotation = "operator.metalbear.co/branch-request"

const byName = (a: readonly [string, unknown], b: readonly [string, unknown]): number => (a[0] < b[0] ? -1 : 1)

/** The same for the same choices, in whatever order the API server has them. */
export const requestDigest = (
  { connection, connectionSettings, databaseName, engine, mode, parts }: BranchRequest,
  sha256Hex: Sha256Hex
): string => {
  const tables = parts.map(({ filter, name }) => [name, filter ?? null] as const)
  const chosen = [
    engine,
    mode,
    databaseName ?? null,
    tables.toSorted(byName),
    [...connection].toSorted(byName),
    Object.entries(connectionSettings).toSorted(byName)
  ]
  return sha256Hex(JSON.stringify(chosen)).slice(0, 32)
}

/**
 * The ports of a workload that sessions steal whole, as lists of sessions show them. A port that is stolen by filters
 * is open to further sessions.
 *
 * Not here: who gets a port (routing). A session on another name of the same pods, such as one of a Deployment's pods,
 * cannot be recognized by its name.
 */

import * as Result from "effect/Result"
import type { SessionInfo } from "../resources/session.ts"
import { parseTargetPath } from "./target-path.ts"
import type { Target } from "./target.ts"

/** The containers of a pod share its ports, so they make no difference. */
const isSameWorkload = (path: string, target: Target): boolean => {
  const other = Result.getOrUndefined(parseTargetPath(path))
  return (
    target._tag === "Workload" && other?._tag === "Workload" && other.kind === target.kind && other.name === target.name
  )
}

/** In order, each port once. `sessions`: all that the operator knows. */
export const portLocksOf = (
  sessions: ReadonlyArray<SessionInfo>,
  namespace: string,
  target: Target
): ReadonlyArray<number> => {
  const ports = sessions
    .filter((session) => session.namespace === namespace && isSameWorkload(session.target, target))
    .flatMap(({ locked_ports: locked }) => locked ?? [])
    .flatMap(({ filter, port }) => ((filter ?? undefined) === undefined ? [port] : []))
  return [...new Set(ports)].toSorted((a, b) => a - b)
}

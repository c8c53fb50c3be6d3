/**
 * N9 (failures.md §3.9, §4.3, §4.6, §4.7, §4.15, §4.19), checked on what operators send. Patches of sessions touch only
 * fields of the operator, and owner references stay within a cluster.
 */

import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { ownerLabel } from "../../../src/domain/session/names.ts"
import type { Invariant } from "./invariant.ts"

const sessions: ReadonlySet<string> = new Set([mirrordMultiClusterSessions.plural, mirrordClusterSessions.plural])

interface Patch {
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly spec?: object
  readonly status?: unknown
}

/** Whether a patch writes the clusters of a parent, which its operator has created: others have joined the fleet. */
const joinsClusters = ({ metadata, spec }: Patch, resource: string): boolean =>
  resource === mirrordMultiClusterSessions.plural &&
  metadata?.["resourceVersion"] !== undefined &&
  Object.keys(spec ?? {}).join() === "clusters"

/** Why a patch of a session is not allowed, if it is not. */
const problem = (patch: Patch, resource: string, isStatus: boolean): string | undefined => {
  const { resourceVersion, uid, ...metadata } = patch.metadata ?? {}
  if (patch.spec !== undefined && !joinsClusters(patch, resource)) return "changes the spec, which is the creator's"
  if (isStatus) {
    if (patch.status === null) return "erases the whole status"
    if (Object.keys(metadata).length > 0) return `changes ${Object.keys(metadata).join(", ")} through the status`
    return uid === undefined ? "does not say which object is meant: it has no uid" : undefined
  }
  if (patch.status !== undefined) return "changes the status past its subresource"
  for (const field of ["labels", "annotations"]) if (field in metadata) return `changes ${field}, which others may own`
  // A list is replaced as a whole: without a version another writer's entry may be lost.
  return "finalizers" in metadata && resourceVersion === undefined
    ? "replaces the finalizers without a resourceVersion"
    : undefined
}

export const ownFieldsOnly: Invariant = {
  id: "N9",
  sentence:
    "An operator changes only its own fields, of exactly the object that it has seen, and owns nothing across " +
    "clusters.",
  begin: () => ({
    on: (event) => {
      if (event._tag === "Called") {
        const { body, name, resource, subresource, to, verb } = event.call
        if (verb !== "patch" || body === undefined || !sessions.has(resource)) return undefined
        const found = problem(body, resource, subresource === "status")
        return found === undefined
          ? undefined
          : `The patch of ${resource} ${name} in ${to} by ${event.process} ${found}.`
      }
      if (event._tag !== "Committed" || event.commit.before !== undefined || event.commit.after === undefined)
        return undefined
      const { metadata } = event.commit.after
      // UIDs of a simulated cluster begin with its name.
      const foreign = metadata.ownerReferences?.find(({ uid }) => !uid.startsWith(`${event.cluster}-uid-`))
      if (foreign !== undefined)
        return `${metadata.name} in ${event.cluster} is owned by ${foreign.kind} ${foreign.name} of another cluster.`
      const [[label = "", value = ""] = []] = Object.entries(ownerLabel)
      return sessions.has(event.commit.ref.plural) && metadata.labels?.[label] !== value
        ? `${metadata.name} in ${event.cluster} has no label ${label}.`
        : undefined
    }
  })
}

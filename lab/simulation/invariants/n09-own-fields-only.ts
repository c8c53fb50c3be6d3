/**
 * N9 (failures.md §3.9, §4.3, §4.6, §4.7, §4.15, §4.19), checked on what operators send. Patches of sessions touch only
 * fields of the operator, and owner references stay within a cluster.
 */

import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { ownerLabel } from "../../../src/domain/sessions/names.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { Commit } from "../../memory/memory-objects.ts"
import type { Invariant } from "./invariant.ts"

const sessions: ReadonlySet<string> = new Set([mirrordMultiClusterSessions.plural, mirrordClusterSessions.plural])

interface Spec {
  readonly clusters?: ReadonlyArray<string>
  readonly copyTarget?: unknown
}

interface Patch {
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly spec?: Spec
  readonly status?: unknown
}

/** Whether a patch writes the clusters of a parent, which its operator has created: others have joined the fleet. */
const joinsClusters = ({ metadata, spec }: Patch, resource: string): boolean =>
  resource === mirrordMultiClusterSessions.plural &&
  metadata?.["resourceVersion"] !== undefined &&
  metadata["uid"] !== undefined &&
  Object.keys(spec ?? {}).join() === "clusters"

const specOf = (parent: KubeObject): Spec => parent["spec"] ?? {}

/** Whether an operator has created a session. */
const isOperators = ({ metadata }: KubeObject): boolean =>
  Object.entries(ownerLabel).every(([label, value]) => metadata.labels?.[label] === value)

/** Why an operator may not have given a parent other clusters, if it may not. */
const joinProblem = (before: KubeObject, after: KubeObject): string | undefined => {
  const { clusters = [], copyTarget } = specOf(before)
  const joined = specOf(after).clusters ?? []
  if (clusters.some((cluster, index) => joined[index] !== cluster)) return "loses clusters"
  if (joined.length === clusters.length) return undefined
  if (!isOperators(before)) return "was made by hand, and gets clusters"
  return copyTarget === undefined ? undefined : "runs on a copy, and gets clusters that have none"
}

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
  begin: () => {
    /** The clusters that an operator last wrote, by parent: people write them too. */
    const written = new Map<string, string>()
    const isWritten = ({ after, ref }: Commit): boolean =>
      ref.plural === mirrordMultiClusterSessions.plural &&
      after !== undefined &&
      written.get(after.metadata.name) === JSON.stringify(specOf(after).clusters)
    return {
      on: {
        Called: ({ call: { body, name, resource, subresource, to, verb }, process }) => {
          if (verb !== "patch" || body === undefined || !sessions.has(resource)) return undefined
          const patch: Patch = body
          if (patch.spec !== undefined) written.set(name, JSON.stringify(patch.spec.clusters))
          const found = problem(patch, resource, subresource === "status")
          return found === undefined ? undefined : `The patch of ${resource} ${name} in ${to} by ${process} ${found}.`
        },
        Committed: ({ cluster, commit }) => {
          const { after, before, ref } = commit
          if (after === undefined) return undefined
          const { metadata } = after
          const what = `${metadata.name} in ${cluster}`
          if (before !== undefined) {
            const found = isWritten(commit) ? joinProblem(before, after) : undefined
            return found === undefined ? undefined : `${what} ${found}.`
          }
          // UIDs of a simulated cluster begin with its name.
          const foreign = metadata.ownerReferences?.find(({ uid }) => !uid.startsWith(`${cluster}-uid-`))
          if (foreign !== undefined) return `${what} is owned by ${foreign.kind} ${foreign.name} of another cluster.`
          return sessions.has(ref.plural) && !isOperators(after)
            ? `${what} has no label ${Object.keys(ownerLabel).join()}.`
            : undefined
        }
      }
    }
  }
}

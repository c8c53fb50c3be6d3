/**
 * N16 (failures.md §3.17, §4.33). The number of pods of a workload that a copy replaces is written in the cluster from
 * the first moment on, in the same write that takes the pods, and the workload has that number again once no copy needs
 * it. A number that a person sets meanwhile is the person's; a zero that a person sets while the workload is at zero
 * cannot be told from the copy's. A copy that a session is on has the pods of the workload that it is to replace: with
 * copies over many clusters in each of them.
 */

import { pods } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { World } from "../world/world.ts"
import type { Invariant } from "./invariant.ts"
import { usedCopies } from "./session-objects.ts"

/** The labels as people and upgrades find them; written here again, so that a changed name is noticed. */
const fromLabel = "operator.metalbear.co/scaled-down-from"
const byLabel = "operator.metalbear.co/scaled-down-by"
const kinds: ReadonlySet<string> = new Set(["deployments", "statefulsets"])

const replicasOf = (workload: KubeObject): number =>
  (workload["spec"] as { readonly replicas?: number } | undefined)?.replicas ?? 1

/** The number that a workload at zero is to have again. */
const keptBy = ({ metadata }: KubeObject): string | undefined => metadata.labels?.[fromLabel]

/** The living copy that a workload is at zero for. */
const needs = (world: World, cluster: string, { metadata }: KubeObject): boolean => {
  const { objects } = world.cluster(cluster).server
  const copy = objects.peek(pods, metadata.labels?.[byLabel] ?? "", metadata.namespace)
  return copy !== undefined && copy.metadata.deletionTimestamp === undefined
}

/** The workload that a copy is to replace, as the collection of its kind and its name. */
const replacedBy = ({ metadata }: KubeObject): string | undefined => {
  const { replaces } = JSON.parse(metadata.annotations?.["operator.metalbear.co/copy-target"] ?? "{}") as {
    readonly replaces?: { readonly kind: string; readonly name: string }
  }
  return replaces === undefined ? undefined : `${replaces.kind}s ${replaces.name}`
}

interface Followed {
  readonly cluster: string
  readonly plural: string
  /** The workload as it was last written. */
  now: KubeObject
  /** The number of pods that people want. */
  wanted: number
}

/** The number that people want after a write of a workload; a text if the write loses that number. */
const written = (followed: Followed, before: KubeObject, after: KubeObject, isByPerson: boolean): number | string => {
  const [was, is] = [keptBy(before), keptBy(after)]
  const [from, to] = [replicasOf(before), replicasOf(after)]
  if (was === undefined && is !== undefined) {
    if (to !== 0) return `is labelled as scaled down, with ${to} pods`
    return is === String(from) ? followed.wanted : `loses its number of pods: it had ${from}, and its label says ${is}`
  }
  if (was !== undefined && is === undefined) {
    if (from !== 0 && from === to) return followed.wanted
    return String(to) === was ? followed.wanted : `gets ${to} pods back, and its label said ${was}`
  }
  if (from === to) return followed.wanted
  if (!isByPerson) return `is set from ${from} to ${to} pods by an operator, without a note of the number before`
  // With the label a zero is the copy's again: what a person set before it, and no operator has seen, is undone.
  return is !== undefined && to === 0 ? Number(is) : to
}

/** Copies in use beside workloads with pods. `isMeddled`: whether a person has scaled a workload, or deleted it. */
const besideTheirs = (
  world: World,
  workloads: ReadonlyMap<string, Followed>,
  isMeddled: (key: string) => boolean
): ReadonlyArray<string> =>
  [...world.clusters.values()].flatMap((cluster) => {
    const inUse = usedCopies(cluster)
    return cluster.kubelet.copies.flatMap((copy) => {
      const { name } = copy.metadata
      const replaced = replacedBy(copy)
      const key = `${cluster.name} ${replaced}`
      const workload = workloads.get(key)?.now
      const isAside = workload === undefined || keptBy(workload) !== undefined || replicasOf(workload) === 0
      return !inUse.has(name) || replaced === undefined || isAside || isMeddled(key)
        ? []
        : [`In ${cluster.name} a session is on the copy ${name}, and ${replaced} has its pods beside it.`]
    })
  })

export const replicasKept: Invariant = {
  id: "N16",
  sentence: "A workload that a copy has replaced has its pods back once no copy needs it.",
  begin: (world) => {
    const workloads = new Map<string, Followed>()
    const meddled = new Set<string>()
    /** When a person last scaled a workload: the write follows at once. */
    let scaledAt: number | undefined
    return {
      on: {
        Fault: ({ at, kind }) => {
          scaledAt = /^(workload|pods) scaled$/u.test(kind) ? at : undefined
        },
        Committed: ({ at, cluster, commit: { after, before, ref } }) => {
          if (!kinds.has(ref.plural)) return undefined
          const key = `${cluster} ${ref.plural} ${(after ?? before)?.metadata.name}`
          if (scaledAt === at || after === undefined) meddled.add(key)
          if (after === undefined) return void workloads.delete(key)
          const known = workloads.get(key)
          if (known === undefined || before === undefined)
            return void workloads.set(key, { cluster, plural: ref.plural, now: after, wanted: replicasOf(after) })
          const found = written(known, before, after, scaledAt === at)
          scaledAt = undefined
          known.now = after
          if (typeof found === "string") return `In ${cluster} ${ref.plural} ${after.metadata.name} ${found}.`
          known.wanted = found
        }
      },
      atRest: () => [
        ...besideTheirs(world(), workloads, (key) => meddled.has(key)),
        ...[...workloads.values()].flatMap(({ cluster, now, plural, wanted }) => {
          // No operator could give the pods back; `braid cleanup` does that for an operator that is removed.
          if (world().cluster(cluster).host.isGone) return []
          const what = `In ${cluster} ${plural} ${now.metadata.name}`
          const [kept, found] = [keptBy(now), replicasOf(now)]
          if (kept !== undefined && !needs(world(), cluster, now))
            return [`${what} is still labelled as scaled down, and its copy is gone.`]
          const due = kept === undefined ? wanted : 0
          return found === due ? [] : [`${what} is to have ${found} pods and not ${due}.`]
        })
      ]
    }
  }
}

/**
 * Takes a cluster out of a primary's fleet: looks at both, decides, and removes if it is asked to.
 *
 * Not here: the decision (domain/commands/join/leave-plan.ts), and how the outcome is printed (leave-command.ts).
 */

import { Effect, type Scope } from "effect"
import { quoted } from "../../../domain/clean-text.ts"
import { type LeavePlan, type LeaveStep, planLeave } from "../../../domain/commands/join/leave-plan.ts"
import { pinsName } from "../../../domain/fleet/cluster-identity.ts"
import { clusterName, credentialsSecretName, refreshedSecretName } from "../../../domain/fleet/cluster-name.ts"
import { configMaps, leases, secrets } from "../../../domain/resources/core-kinds.ts"
import {
  type MirrordMultiClusterSession,
  mirrordMultiClusterSessions
} from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import { primaryLeaseName } from "../../../domain/sessions/primary-claim.ts"
import type { KubeApi, KubeObject } from "../../../ports/kube-api.ts"
import { orIf } from "../../kernel/or-if.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import type { Unanswered } from "../overview/ask-cluster.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { findMember, type MemberChoice, type MemberCluster } from "./member-cluster.ts"
import { listText, perform, type Write } from "./perform-join.ts"
import { failedDoing, findPrimary, orNothing, type Primary, releaseOf } from "./primary.ts"

export interface LeaveOptions extends KubeConfigChoice, MemberChoice {
  /** Namespace of the primary's operator. */
  readonly namespace: string
  /** Whether anything is removed. */
  readonly apply: boolean
  readonly force: boolean
}

/** The outcome. */
export interface Left {
  readonly name: string
  readonly plan: Extract<LeavePlan, { readonly _tag: "Leave" }>
  readonly writes: ReadonlyArray<Write>
  /** Sentences about what was removed; `undefined` without `apply`. */
  readonly done: ReadonlyArray<string> | undefined
}

/** Whether a session has a part in a cluster, which it is not about to give up. */
const uses = ({ metadata, spec, status }: MirrordMultiClusterSession, cluster: string): boolean =>
  (metadata.deletionTimestamp ?? undefined) === undefined &&
  status?.closed === undefined &&
  (spec.clusters.includes(cluster) || status?.clusterSessions?.[cluster] !== undefined)

/** The sessions that use a cluster. A session that cannot be read counts. */
const sessionsOf = (api: KubeApi, cluster: string): Effect.Effect<ReadonlyArray<string>, Unanswered> =>
  api.list(mirrordMultiClusterSessions).pipe(
    Effect.map(({ items }) =>
      items.flatMap((item) => {
        const read = readResource(mirrordMultiClusterSessions, item)
        return read._tag === "Failure" || uses(read.success, cluster) ? [item.metadata.name] : []
      })
    ),
    Effect.catch((error) =>
      error.reason === "NotFound" ? Effect.succeed([]) : Effect.fail(failedDoing("listing the sessions", error))
    )
  )

/** The Secrets of a cluster that are there. */
const secretsOf = (
  { api, namespace }: Primary,
  cluster: string
): Effect.Effect<ReadonlyArray<KubeObject>, Unanswered> =>
  Effect.forEach([credentialsSecretName, refreshedSecretName], (nameOf) => {
    const name = nameOf(clusterName(cluster), sha256Hex)
    return Effect.mapError(orNothing(api.get(secrets, name, namespace)), (error) =>
      failedDoing(`reading Secret ${namespace}/${name}`, error)
    )
  }).pipe(Effect.map((found) => found.filter((secret) => secret !== undefined)))

const unlessGone = orIf("NotFound", Effect.void)

/** The clusters in which things are removed. */
interface Places {
  readonly primary: Primary
  readonly cluster: MemberCluster | undefined
  readonly found: ReadonlyArray<KubeObject>
}

const entryWrite = ({ api, namespace, sources }: Primary, clusters: Parameters<typeof listText>[0]): Write => {
  const { clustersKey = "", configMap } = sources
  const { name, resourceVersion } = configMap.metadata
  const place = `${clustersKey} of ConfigMap ${namespace}/${name}`
  const patch = { metadata: { resourceVersion }, data: { [clustersKey]: listText(clusters) } }
  return {
    doing: `taking the entry out of ${place}`,
    done: `The entry was taken out of ${place}.`,
    call: api.mergePatch(configMaps, name, patch, { namespace })
  }
}

const writeOf = (step: LeaveStep, { cluster, found, primary }: Places): ReadonlyArray<Write> => {
  const { api, namespace } = primary
  switch (step._tag) {
    case "RemoveEntry":
      return [entryWrite(primary, step.clusters)]
    case "DeleteSecret": {
      const place = `Secret ${namespace}/${step.secret}`
      const uid = found.find(({ metadata }) => metadata.name === step.secret)?.metadata.uid
      const call = api.delete(secrets, step.secret, { namespace, ...(uid === undefined ? {} : { uid }) })
      return [{ doing: `deleting ${place}`, done: `${place} was deleted.`, call: unlessGone(call) }]
    }
    case "Unpin": {
      const place = `ConfigMap ${namespace}/${pinsName}`
      const call = api.mergePatch(configMaps, pinsName, { data: { [step.slug]: null } }, { namespace })
      return [
        {
          doing: `taking the identity out of ${place}`,
          done: `The identity was taken out of ${place}.`,
          call: unlessGone(call)
        }
      ]
    }
    case "FreeMember": {
      if (cluster === undefined) return []
      const place = `Lease ${cluster.namespace}/${primaryLeaseName} of the cluster with context ${cluster.context}`
      const uid = cluster.leaseUid
      const options = { namespace: cluster.namespace, ...(uid === undefined ? {} : { uid }) }
      const call = cluster.api.delete(leases, primaryLeaseName, options)
      return [{ doing: `deleting ${place}`, done: `${place} was deleted.`, call: unlessGone(call) }]
    }
  }
}

const nothingOf = (name: string, { fleet, provided }: Primary): Unanswered => {
  const names = [...fleet.members, ...provided].map((member) => member.name)
  return {
    message: `There is no cluster ${quoted(name)} in the fleet.`,
    fix: names.length === 0 ? "The fleet has no other cluster." : `Name one of ${[...new Set(names)].join(", ")}.`
  }
}

/** Takes a cluster out of a fleet. Fails before anything is removed, or names what was. */
export const leave = Effect.fnUntraced(function* (
  options: LeaveOptions
): Effect.fn.Return<Left, Unanswered, Scope.Scope> {
  const { apply, force, memberNamespace, name } = options
  const primary = yield* findPrimary(options, options.namespace)
  const reached = yield* Effect.result(findMember(options))
  const cluster = reached._tag === "Success" ? reached.success : undefined
  const found = yield* secretsOf(primary, name)
  const plan = planLeave(
    {
      name,
      documents: primary.sources.documents,
      provided: primary.provided,
      sessions: yield* sessionsOf(primary.api, name),
      secrets: found.map(({ metadata }) => metadata.name),
      pins: primary.pins,
      own: primary.uid,
      member:
        reached._tag === "Success"
          ? { _tag: "Reached", uid: reached.success.uid, holder: reached.success.holder }
          : { _tag: "Unreached", why: reached.failure.message },
      memberNamespace,
      release: releaseOf(primary.sources.configMap),
      force
    },
    sha256Hex
  )
  if (plan._tag === "Refused")
    return yield* Effect.fail({
      message: plan.problems.join(" "),
      fix: "Nothing was removed. Do what the sentence says, and run it again."
    })
  const writes = plan.steps.flatMap((step) => writeOf(step, { primary, cluster, found }))
  if (writes.length === 0) return yield* Effect.fail(nothingOf(name, primary))
  return { name, plan, writes, done: apply ? yield* perform(writes) : undefined }
})

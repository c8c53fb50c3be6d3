/** Asks a primary how it sees its members that dial out, and whether their tunnels last. */

import { Clock, Effect, Result } from "effect"
import { lastingFinding, outboundFinding, type SeenOutbound } from "../../../domain/commands/doctor/examine-outbound.ts"
import type { ClusterReport } from "../../../domain/commands/doctor/report.ts"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../../domain/fleet/configuration.ts"
import { findCondition } from "../../../domain/resources/condition.ts"
import { clusterReady, mirrordClusters } from "../../../domain/resources/mirrord-cluster.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { concurrency } from "./probe-answer.ts"

const look = (api: KubeApi, { name }: MemberConfiguration): Effect.Effect<SeenOutbound> =>
  Effect.map(Effect.result(api.get(mirrordClusters, name)), (found) => {
    const object = Result.isSuccess(found)
      ? Result.getOrUndefined(readResource(mirrordClusters, found.success))
      : undefined
    return {
      ready: object && findCondition(object.status.conditions, clusterReady),
      tunnelSince: object?.status.tunnelSince,
      certificateUntil: object?.status.credentialsExpireAt,
      why: Result.isFailure(found) ? found.failure.detail : undefined
    }
  })

const tellProgress = (count: number, seconds: number): Effect.Effect<void> =>
  Effect.sync(() => {
    if (process.stderr.isTTY) console.error(`Watching the tunnels of members (${count}) for ${seconds} s …`)
  })

interface OutboundOptions {
  readonly defaultCluster: ClusterName | undefined
  /** How long the tunnels are watched, in seconds; `undefined`: not at all. */
  readonly tunnelsFor: number | undefined
}

/** `api`: of the primary's cluster. `members`: those that dial out. */
export const examineOutbound = Effect.fnUntraced(function* (
  api: KubeApi,
  members: ReadonlyArray<MemberConfiguration>,
  { defaultCluster, tunnelsFor }: OutboundOptions
): Effect.fn.Return<ReadonlyArray<ClusterReport>> {
  const firsts = yield* Effect.forEach(
    members,
    (member) => Effect.map(look(api, member), (before) => ({ member, before })),
    { concurrency }
  )
  const isWatched = tunnelsFor !== undefined && members.length > 0
  if (isWatched) {
    yield* tellProgress(members.length, tunnelsFor)
    yield* Effect.sleep(tunnelsFor * 1_000)
  }
  return yield* Effect.forEach(
    firsts,
    Effect.fnUntraced(function* ({ before, member }) {
      const { name } = member
      const first = outboundFinding(name, before.ready, before.why)
      const report = { name, part: "member", isDefault: name === defaultCluster, server: "" } as const
      if (!isWatched) return { ...report, findings: [first] }
      const after = yield* look(api, member)
      const now = yield* Clock.currentTimeMillis
      return { ...report, findings: [first, lastingFinding(name, [before, after], { now, seconds: tunnelsFor })] }
    }),
    { concurrency }
  )
})

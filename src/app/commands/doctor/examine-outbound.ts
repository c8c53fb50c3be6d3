/** Asks a primary how it sees its members that dial out. */

import { Effect, Result } from "effect"
import { outboundFinding } from "../../../domain/commands/doctor/examine-outbound.ts"
import type { DoctorReport } from "../../../domain/commands/doctor/report.ts"
import type { MemberConfiguration } from "../../../domain/fleet/configuration.ts"
import { findCondition } from "../../../domain/resources/condition.ts"
import { clusterReady, mirrordClusters } from "../../../domain/resources/mirrord-cluster.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"

/** `api`: of the primary's cluster. */
export const examineOutbound = (
  api: KubeApi,
  { name }: MemberConfiguration,
  isDefault: boolean
): Effect.Effect<DoctorReport["clusters"][number]> =>
  Effect.map(Effect.result(api.get(mirrordClusters, name)), (found) => {
    const object = Result.isSuccess(found)
      ? Result.getOrUndefined(readResource(mirrordClusters, found.success))
      : undefined
    const ready = object && findCondition(object.status.conditions, clusterReady)
    const why = Result.isFailure(found) ? found.failure.detail : undefined
    return { name, part: "member", isDefault, server: "", findings: [outboundFinding(name, ready, why)] }
  })

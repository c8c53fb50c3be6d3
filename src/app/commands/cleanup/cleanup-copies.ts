/**
 * Ends the copies of targets before the operator goes, and gives their workloads the pods back: without an operator a
 * scaled-down workload would stay without pods for ever.
 *
 * Not here: sessions (cleanup.ts).
 */

import { Effect, Result } from "effect"
import { copyLabel } from "../../../domain/copies/copy-record.ts"
import { copyOf, scaledDownFrom, scaledDownPlan } from "../../../domain/copies/scaled-down.ts"
import { pods, type Workload } from "../../../domain/resources/core-kinds.ts"
import { readResource, type ResourceDescriptor } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"
import { labelled } from "../../copies/leftovers.ts"
import { scalableKinds } from "../../copies/scaled-down-workloads.ts"
import { logInfo } from "../../kernel/log.ts"
import { orIf } from "../../kernel/or-if.ts"

/** How often a workload is tried while other writers come first; a running operator is one of them. */
const attempts = 5

/** Carries out a step; its failure is reported, and the rest goes on. */
export type Tell = <A>(doing: string, step: Effect.Effect<A, KubeError>, otherwise: A) => Effect.Effect<A>

/** Gives a workload its pods back. The result is the label with their number, if that cannot be read. */
const givenBack = (
  api: KubeApi,
  kind: ResourceDescriptor<Workload>,
  name: string,
  namespace: string
): Effect.Effect<string | undefined, KubeError> =>
  Effect.gen(function* () {
    const read = readResource(kind, yield* api.get(kind, name, namespace))
    if (Result.isFailure(read) || copyOf(read.success) === undefined) return undefined
    const action = scaledDownPlan(read.success, false)
    if (action._tag === "Unreadable") return action.found
    if (action._tag === "Nothing") return undefined
    yield* api.mergePatch(kind, name, action.patch, { namespace })
    yield* logInfo("workload has its pods back", { kind: kind.kind, name, namespace, replicas: action.replicas })
    return undefined
  }).pipe(
    Effect.retry({ times: attempts, while: ({ reason }) => reason === "Conflict" }),
    orIf("NotFound", Effect.undefined)
  )

/** Deletes all copies, and gives all workloads their pods back. The result: problems, one sentence each. */
export const cleanUpCopies = Effect.fnUntraced(function* (
  api: KubeApi,
  tell: Tell
): Effect.fn.Return<ReadonlyArray<string>> {
  const problems: Array<string> = []
  for (const { metadata } of yield* tell("listing the copies of targets", labelled(api, pods, copyLabel), [])) {
    const { name, namespace, uid } = metadata
    const address = { ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) }
    const deleted = api.delete(pods, name, address).pipe(orIf("NotFound", Effect.void))
    yield* tell(`deleting copy ${name}`, deleted, undefined)
  }
  for (const kind of Object.values(scalableKinds)) {
    const found = yield* tell(`listing scaled-down ${kind.plural}`, labelled(api, kind, scaledDownFrom), [])
    for (const { metadata } of found) {
      const { name, namespace = "" } = metadata
      const doing = `giving ${kind.plural} ${name} in namespace ${namespace} its pods back`
      const unreadable = yield* tell(doing, givenBack(api, kind, name, namespace), undefined)
      if (unreadable !== undefined)
        problems.push(
          `${doing}: its label ${scaledDownFrom} is ${JSON.stringify(unreadable)}, which is no number. Set ` +
            "spec.replicas yourself, and remove the label."
        )
    }
  }
  return problems
})

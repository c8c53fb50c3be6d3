/**
 * TLS configurations as a capability of every operator with agents: gives the sessions the ports of a target that serve
 * TLS, for the agent beside each container. They stand beside the policies, with which they share how targets are
 * selected.
 */

import { Context, Effect, Layer, Result } from "effect"
import { type Resource, targetResource } from "../../domain/policies/target-pattern.ts"
import { agentTls, tlsNeedsLineage } from "../../domain/policies/tls/agent-tls.ts"
import { readTlsSteal, type TlsStealRules } from "../../domain/policies/tls/tls-steal-rules.ts"
import {
  mirrordClusterTlsStealConfigs,
  mirrordTlsStealConfigs,
  type TlsStealConfig
} from "../../domain/resources/policies/mirrord-tls-steal-configs.ts"
import { readResource, type ResourceDescriptor } from "../../domain/resources/resource-descriptor.ts"
import type { SessionFailure } from "../../domain/resources/session-failure.ts"
import type { AgentPlacement } from "../../domain/targets/pod-choice.ts"
import type { Target } from "../../domain/targets/target.ts"
import type { KubeApi, KubeObject } from "../../ports/kube-api.ts"
import { logWarning } from "../kernel/log.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { withCapability } from "../services/capability.ts"
import { OwnCluster } from "../services/own-cluster.ts"
import { TlsSettings, type TlsSubject } from "../services/tls-settings.ts"
import { type KnownRules, makeKnownRules, titleOf } from "./known-rules.ts"
import { makeLineages } from "./lineage.ts"

const rulesOf = (kind: ResourceDescriptor<TlsStealConfig>, object: KubeObject): TlsStealRules => {
  const title = titleOf(kind, object)
  const read = readResource(kind, object)
  if (Result.isSuccess(read)) return readTlsSteal(read.success, object, title)
  const { namespace } = object.metadata
  return {
    title,
    target: { namespace, paths: undefined, selector: undefined },
    ports: Result.fail(read.failure.message)
  }
}

const problemOf = ({ ports, title }: TlsStealRules): string | undefined =>
  Result.isFailure(ports) ? `${title} cannot be used: ${ports.failure}` : undefined

/**
 * The session's target and its pod, and what owns either. With the pod's own owners all sessions on a container agree,
 * however each of them names its target; they share its agent.
 */
const lineageOf = (
  api: KubeApi,
  namespace: string,
  target: Target,
  { podName }: AgentPlacement
): Effect.Effect<ReadonlyArray<Resource>, SessionFailure> => {
  const pod: Target = { _tag: "Workload", kind: "pod", name: podName, container: undefined }
  const lineages = makeLineages(api, namespace)
  return Effect.map(Effect.forEach([target, pod], lineages.ofTarget), (found) => found.flat()).pipe(
    Effect.mapError((error) => {
      const why = error._tag === "KubeError" ? error.detail : error.message
      return { reason: "Error", message: `it cannot be told which TLS configurations hold for this target: ${why}` }
    })
  )
}

/** How long a session waits for the configurations of an operator that starts. */
const patience = "8 seconds"

/** Fails while the configurations are not known: without them an agent would not notice that a port serves TLS. */
const awaitKnown = ({ problems, started }: KnownRules<TlsStealRules>): Effect.Effect<void, SessionFailure> =>
  Effect.andThen(Effect.timeoutOption(started, patience), () => {
    const found = problems()
    const message = `it cannot be told which TLS configurations hold for this target: ${found.join(" ")}`
    return found.length === 0 ? Effect.void : Effect.fail({ reason: "Error", message } as const)
  })

const tlsOf = Effect.fnUntraced(function* (
  known: KnownRules<TlsStealRules>,
  api: KubeApi,
  { namespace, placement, target }: TlsSubject
) {
  yield* awaitKnown(known)
  const all = known.inNamespace(namespace)
  if (all.length === 0) return []
  const lineage = tlsNeedsLineage(all) ? yield* lineageOf(api, namespace, target, placement) : [targetResource(target)]
  const found = agentTls(all, { namespace, lineage, containers: [placement.containerName] })
  if (Result.isFailure(found)) return yield* Effect.fail({ reason: "Error", message: found.failure } as const)
  const { leftOut, ports } = found.success
  for (const problem of leftOut) yield* logWarning("TLS settings left out", { pod: placement.podName, problem })
  return ports
})

/** The TLS settings of agents by the configurations of this cluster. An operator without agents reads none. */
export const tlsLayer = Layer.effectContext(
  Effect.gen(function* () {
    const { api, fleet } = yield* OwnCluster
    if (fleet?.managementOnly === true)
      return Context.add(yield* withCapability({}), TlsSettings, { stealTls: () => Effect.succeed([]) })
    const known = yield* makeKnownRules(api, {
      kinds: [mirrordClusterTlsStealConfigs, mirrordTlsStealConfigs],
      read: rulesOf,
      problem: problemOf
    })
    const reading = retryingApi(api)
    return Context.add(yield* withCapability({ problems: known.problems, started: known.started }), TlsSettings, {
      stealTls: (subject) => Effect.suspend(() => tlsOf(known, reading, subject))
    })
  })
)

/**
 * Tunnels for a running operator: the cell of a primary, the outpost of a member, or neither. Both begin when this
 * replica leads.
 */

import type { KubeConfig } from "@kubernetes/client-node"
import { Clock, Effect, FiberSet, type Scope } from "effect"
import type { NotePeople } from "../../adapters/kubernetes/people-lanes.ts"
import { makeLaneServer } from "../../adapters/kubernetes/serve-lanes.ts"
import { makeTunnelListener } from "../../adapters/tunnel/cell-listener.ts"
import { makeTunnelDialler } from "../../adapters/tunnel/tunnel-dialler.ts"
import { cellProblem, pinProblem, readMemberCertificate } from "../../adapters/x509/tunnel-certificates.ts"
import { memberAccount } from "../../domain/commands/join/join-request.ts"
import { isOutbound } from "../../domain/fleet/configuration.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { TunnelDialler, TunnelListener } from "../../ports/tunnel.ts"
import type { ConfigurationSource } from "../fleet/configuration-source.ts"
import { auditBeginning, auditPeople } from "../kernel/audit-people.ts"
import { elapsedOf } from "../kernel/term.ts"
import type { ReplicaOptions } from "../operator/run-replica.ts"
import type { Settings } from "../operator/settings.ts"
import { type AccessByLanes, serveOutboundMembers } from "../outbound/outbound-members.ts"
import { runOutpost } from "../outbound/outpost.ts"

/** The cell; `undefined` if this operator takes no tunnels. */
export const outboundServer = (
  { fallback, host, namespace, values }: Settings,
  configuration: ConfigurationSource | undefined,
  access: AccessByLanes
): ReplicaOptions["serveOutbound"] => {
  if (!values.takesTunnels || configuration === undefined) return undefined
  const { bootstrapPort, bootstrapRanges, cellPort: port, certificateHours, webSocketPort } = values
  const members = () => configuration.known().members.filter(isOutbound)
  return (api) =>
    serveOutboundMembers(
      {
        api,
        namespace,
        settings: {
          hosts: [host, ...(fallback === undefined ? [] : [fallback.host])],
          port,
          bootstrapPort,
          webSocketPort,
          bootstrapRanges,
          certificateHours
        },
        isConfigured: (name) => members().some((member) => member.name === name),
        configured: () => members().map(({ name }) => name),
        listen: (changed) => configuration.listen(changed)
      },
      access
    ).pipe(Effect.provideService(TunnelListener, makeTunnelListener(readMemberCertificate)))
}

/** Writes the audit lines of people's requests, each with the time that it took. */
const notePeople: Effect.Effect<NotePeople, never, Scope.Scope> = Effect.gen(function* () {
  const elapsed = elapsedOf(yield* Clock.Clock)
  const run = yield* FiberSet.makeRuntime<never, void, never>()
  return (request) => {
    const from = elapsed()
    if (request.as !== undefined) run(auditBeginning(request))
    return (outcome) => void run(auditPeople(request, outcome, elapsed() - from))
  }
})

/** The outpost; `undefined` if this operator dials no primary. `config`: of the own cluster. */
export const outboundDialler = (
  { namespace, values }: Settings,
  config: KubeConfig,
  userAgent: string
): ReplicaOptions["dialOut"] => {
  const { bootstrapAddress, cellAddress, cellPin, dialsOut, joinToken } = values
  const people = { groups: values.peopleGroups, extraKeys: values.peopleExtraKeys, prefix: values.peoplePrefix }
  if (!dialsOut || cellAddress === undefined) return undefined
  const bootstrap = joinToken && { token: joinToken, address: bootstrapAddress, pin: cellPin }
  const account = `system:serviceaccount:${namespace}:${memberAccount}`
  return (api: KubeApi): Effect.Effect<never, never, Scope.Scope> =>
    notePeople.pipe(
      Effect.flatMap((note) =>
        Effect.acquireRelease(
          Effect.sync(() => makeLaneServer(config, { envoy: account, userAgent, people, note })),
          (server) => Effect.sync(() => server.close())
        )
      ),
      Effect.flatMap(({ serve }) => runOutpost({ api, namespace, cell: cellAddress, bootstrap, serve })),
      Effect.provideService(TunnelDialler, makeTunnelDialler({ cellProblem, pinProblem }))
    )
}

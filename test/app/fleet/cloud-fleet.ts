import { Clock, Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { makeFleet } from "../../../src/app/fleet/fleet.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../../src/domain/fleet/configuration.ts"
import type { ClusterAuth, MadeAuth } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import type { MemberCredentials } from "../../../src/domain/fleet/credentials/member-credentials.ts"
import { ClusterConnector } from "../../../src/ports/cluster-connector.ts"
import { CredentialMaker, type CredentialCluster } from "../../../src/ports/credential-maker.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { LinkRefused } from "../../../src/ports/member-link.ts"
import { configurationOf } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { day0, fleetOptions, operators, workloadCluster } from "../sessions/session-fleet.ts"

export const name = clusterName("cluster-a")

const wordOf = (auth: MadeAuth): string => {
  if (auth._tag === "ExecPlugin") return auth.provider
  return (auth._tag === "Eks" ? auth.region : auth.tenantId) ?? "none"
}

/** A primary whose only cluster authenticates by `auth`, and the cloud that gives it tokens. */
export const startInCloud = Effect.fnUntraced(function* (auth: ClusterAuth) {
  yield* TestClock.setTime(day0)
  const [primary, member] = [new MemoryKubeApi("primary"), workloadCluster("cluster-a")]
  const asked: Array<CredentialCluster> = []
  /** Tokens are used for so many ms. */
  const cloud = { problem: undefined as string | undefined, lifetime: 14 * 60_000 }
  /** Each use of credentials: that with which the cluster is engaged, and those that follow. */
  const engaged: Array<string> = []
  const used: Array<string> = []
  const problems: Array<string> = []
  const endings: Array<string> = []
  const text = (credentials: MemberCredentials): string =>
    credentials._tag === "BearerToken" ? Redacted.value(credentials.token) : credentials._tag
  const base = configurationOf(["cluster-a"])
  const members = base.members.map((one): MemberConfiguration => ({ ...one, auth }))
  const link = () => Effect.fail(new LinkRefused({ cluster: "a", reason: "", detail: "none" }))
  const fleet = yield* makeFleet(
    fleetOptions({
      configuration: { ...base, members },
      events: {
        happened: (_cluster, { message, reason }) =>
          void (reason === "CredentialsEnd" ? endings : problems).push(message)
      }
    })
  ).pipe(
    Effect.provideService(ClusterConnector, {
      own: { api: primary, link },
      member: (_member, credentials) =>
        Effect.sync(() => {
          engaged.push(text(credentials))
          return { api: member, link, reauthenticate: (next) => void used.push(text(next)) }
        })
    }),
    Effect.provideService(CredentialMaker, (cluster) =>
      Effect.suspend(() => {
        asked.push(cluster)
        if (cloud.problem !== undefined) return Effect.fail(cloud.problem)
        const token = Redacted.make(`token ${asked.length} ${wordOf(cluster.auth)}`)
        return Effect.map(Clock.currentTimeMillis, (now) => ({
          credentials: { _tag: "BearerToken" as const, token },
          until: now + cloud.lifetime
        }))
      })
    )
  )
  /** From now on the member knows nobody. */
  const refuseAll = (): void => {
    member.before = ({ plural }) =>
      plural === operators.plural
        ? Effect.fail(new KubeError({ cluster: "a", operation: "get", reason: "Unauthorized", detail: "Unauthorized" }))
        : Effect.void
  }
  const reach = () => fleet.clusters.get(name)?.reach()
  return { asked, cloud, endings, engaged, fleet, members, primary, problems, reach, refuseAll, used }
})

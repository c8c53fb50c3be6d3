import { Effect, Exit, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import type { FleetCluster } from "../../../../src/app/fleet/fleet-cluster.ts"
import { SessionNotifier } from "../../../../src/app/kernel/session-notifier.ts"
import { linkMembers } from "../../../../src/app/sessions/primary/member-links.ts"
import { clusterName } from "../../../../src/domain/fleet/cluster-name.ts"
import { mirrordMultiClusterSessions } from "../../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { readResource } from "../../../../src/domain/resources/resource-descriptor.ts"
import { parseConnectQuery } from "../../../../src/domain/sessions/connect-request.ts"
import { sessionId } from "../../../../src/domain/sessions/session-id.ts"
import { LinkRefused, type LinkRequest } from "../../../../src/ports/member-link.ts"
import { it } from "../../../support/effect-it.ts"
import { fakeChannel, type FakeChannel } from "../../../support/fake-channel.ts"

const names = ["a", "b", "c"]
const parent = Result.getOrThrow(
  readResource(mirrordMultiClusterSessions, {
    metadata: { name: "mc-1", uid: "u" },
    spec: {
      owner: { userId: "u", username: "dev", hostname: "laptop", k8sUsername: "dev@corp" },
      namespace: "default",
      target: { apiVersion: "apps/v1", kind: "Deployment", name: "myapp", container: "" },
      targetAlias: "deployment.myapp",
      clusters: names,
      primaryCluster: "primary",
      defaultCluster: "a"
    },
    status: {
      phase: "Ready",
      conditions: [
        {
          type: "DefaultClusterReady",
          status: "True",
          reason: "x",
          message: "x",
          lastTransitionTime: "2026-01-01T00:00:00Z"
        }
      ],
      clusterSessions: Object.fromEntries(names.map((name) => [name, { sessionName: `mc-1-${name}`, ready: true }]))
    }
  })
)

/** Members that answer a second after they are asked for a link; those of `refused` by a refusal. */
const linking = (refused: ReadonlyArray<string>) => {
  const asked: Array<string> = []
  const channels = new Map<string, FakeChannel>()
  const link = ({ cluster }: LinkRequest) =>
    Effect.gen(function* () {
      asked.push(cluster)
      yield* Effect.sleep(refused.includes(cluster) ? 2_000 : 1_000)
      if (refused.includes(cluster))
        return yield* new LinkRefused({ cluster, reason: "NotFound", detail: "no", code: 404 })
      const channel = fakeChannel()
      channels.set(cluster, channel)
      return channel
    })
  const cluster = (name: string) =>
    [clusterName(name), { access: () => ({ link }), health: () => undefined } as unknown as FleetCluster] as const
  const options = {
    fleet: { clusters: new Map(names.map(cluster)) } as unknown as Parameters<typeof linkMembers>[0]["fleet"],
    notifier: new SessionNotifier(),
    manager: { parent: () => parent }
  }
  const params = Result.getOrThrow(parseConnectQuery("connect=true"))
  const connection = { id: sessionId(1n), name: "mc-1", params, leadsTo: new WeakMap() }
  return { asked, channels, links: linkMembers(options, connection) }
}

describe("the first links of a connection", () => {
  it.effect("are opened side by side: all clusters are asked before any has answered", function* () {
    const { asked, links } = linking([])
    const scope = yield* Scope.make()
    const fiber = yield* Effect.forkChild(links.pipe(Scope.provide(scope)))
    yield* TestClock.adjust(1)
    expect(asked.toSorted()).toEqual(names)
    yield* TestClock.adjust(1_000)
    expect(fiber.pollUnsafe()).toMatchObject({ _tag: "Success" })
    yield* Scope.close(scope, Exit.void)
  })

  it.effect("are all closed where the default cluster refuses", function* () {
    const { channels, links } = linking(["a"])
    const fiber = yield* Effect.forkChild(Effect.result(Effect.scoped(links)))
    yield* TestClock.adjust(3_000)
    expect(fiber.pollUnsafe()).toMatchObject({ value: { _tag: "Failure", failure: { code: 404 } } })
    expect([...channels].map(([name, channel]) => [name, channel.isClosed()])).toEqual([
      ["b", true],
      ["c", true]
    ])
  })
})

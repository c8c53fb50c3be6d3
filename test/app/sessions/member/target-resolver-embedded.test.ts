/** Label targets over HTTP, against the embedded cluster: the session's object keeps them, and their pods are found. */

import { Effect, Exit } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pods } from "../../../../lab/cluster/store/resource-refs.ts"
import { resolveTarget } from "../../../../src/app/sessions/member/target-resolver.ts"
import { mirrordClusterSessions } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { apiVersionOf } from "../../../../src/domain/resources/resource-descriptor.ts"
import { toKubeTarget } from "../../../../src/domain/targets/kube-target.ts"
import { connectKubeApi } from "../../../adapters/kubernetes/kube-api-server.ts"
import { type RunningCluster, runCluster } from "../../../lab/cluster/running-cluster.ts"

const keys = ["a", "b", "c", "d", "e"].map((letter) => `shop.io/${letter.repeat(60)}`)
const labels = { app: "web", ...Object.fromEntries(keys.map((key) => [key, "x".repeat(20)])) }

describe("label targets on the embedded cluster", () => {
  let running: RunningCluster
  let api: Awaited<ReturnType<typeof connectKubeApi>>

  beforeAll(async () => {
    running = await runCluster()
    const { cluster } = running
    api = await connectKubeApi({
      ...cluster,
      apply: async (yaml) => cluster.apply(yaml),
      tokenOf: async (namespace, account) => cluster.serviceAccountToken(namespace, account, 3600),
      stop: () => Effect.runPromise(cluster.stop()),
      restart: () => Effect.runPromise(cluster.restart()),
      forget: async () => {}
    })
  })
  afterAll(async () => {
    await api.close()
    await running.close()
  })

  const addPod = (namespace: string, name: string, own: object, ready = true): void => {
    const { store } = running.cluster
    const spec = {
      nodeName: "node",
      containers: [
        { name: "app", image: "app" },
        { name: "istio-proxy", image: "i" }
      ]
    }
    store.create(pods, { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, labels: { ...own } }, spec })
    const statuses = ["app", "istio-proxy"].map((container) => ({
      name: container,
      ready,
      containerID: `containerd://${name}-${container}`,
      image: "i",
      imageID: "i",
      restartCount: 0
    }))
    const status = { phase: "Running", podIPs: [{ ip: "10.0.0.1" }], containerStatuses: statuses }
    store.writeStatus(pods, namespace, name, status)
  }

  /** Stores a session with these labels, and looks up the pods of the session that the API server then has. */
  const placementsOf = Effect.fnUntraced(function* (session: string, wanted: Readonly<Record<string, string>>) {
    const { admin } = api.server
    const target = toKubeTarget({ _tag: "Label", labels: wanted, container: undefined }) ?? null
    const owner = { userId: "u", username: "u", hostname: "h", k8sUsername: "u" }
    yield* admin.create(mirrordClusterSessions, {
      apiVersion: apiVersionOf(mirrordClusterSessions),
      kind: mirrordClusterSessions.kind,
      metadata: { name: session },
      spec: { namespace: "default", owner, target }
    })
    const stored = yield* admin.get(mirrordClusterSessions, session)
    expect(stored).toMatchObject({ spec: { target } })
    return yield* resolveTarget(admin, { spec: { namespace: "default", target } })
  })

  it("are the namespace's ready pods with all of the labels, and no sidecar in them", async () => {
    running.cluster.apply("{apiVersion: v1, kind: Namespace, metadata: {name: elsewhere}}")
    addPod("default", "web-1", labels)
    addPod("default", "web-2", { ...labels, more: "yes" })
    addPod("default", "web-starts", labels, false)
    addPod("default", "web-lacks-one", { app: "web" })
    addPod("elsewhere", "web-3", labels)
    const placements = await Effect.runPromise(placementsOf("many", labels))
    expect(placements.map(({ containerName, podName }) => [podName, containerName])).toEqual([
      ["web-1", "app"],
      ["web-2", "app"]
    ])
  })

  it("that no ready pod has are not ready, in words that name them", async () => {
    const exit = await Effect.runPromise(Effect.exit(placementsOf("none", { app: "nobody" })))
    expect(exit).toEqual(
      Exit.fail({
        reason: "TargetNotReady",
        message: expect.stringContaining("no pod with labels app=nobody is ready")
      })
    )
  })
})

import { Effect } from "effect"
import { afterAll, beforeAll, describe } from "vitest"
import { connectKubeApi } from "../../adapters/kubernetes/kube-api-server.ts"
import { type RunningCluster, runCluster } from "../../lab/cluster/running-cluster.ts"
import { type ReflectedCluster, reflectorSuite } from "./reflector-suite.ts"

describe("a reflector over HTTP, against the embedded cluster", () => {
  let running: RunningCluster
  let close: () => Promise<void>
  let reflected: ReflectedCluster

  beforeAll(async () => {
    running = await runCluster()
    const { cluster } = running
    const tokenOf = async (namespace: string, account: string): Promise<string> =>
      cluster.serviceAccountToken(namespace, account, 3600)
    const stop = (): Promise<void> => Effect.runPromise(cluster.stop())
    const restart = (): Promise<void> => Effect.runPromise(cluster.restart())
    const forget = async (): Promise<void> => {
      await stop()
      await restart()
    }
    const connected = await connectKubeApi({
      ...cluster,
      apply: async (yaml) => cluster.apply(yaml),
      tokenOf,
      stop,
      restart,
      forget
    })
    close = connected.close
    const leeway = 60
    reflected = {
      ...connected.server,
      server: cluster.server,
      caPem: cluster.caPem,
      tokenOf,
      shortTokenOf: async (namespace, account, seconds) =>
        cluster.serviceAccountToken(namespace, account, seconds - leeway)
    }
  })
  afterAll(async () => {
    await close()
    await running.close()
  })

  reflectorSuite(() => reflected)
})

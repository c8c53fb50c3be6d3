/** The clusters in which commands are recorded and played. */

import { join } from "node:path"
import { Effect } from "effect"
import { beforeAll } from "vitest"
import { newUser } from "../../lab/client/raw-session.ts"
import { openSessionSocket } from "../../lab/client/session-client.ts"
import { asObject, at } from "../../src/domain/json.ts"
import { type NetworkUser, subnetOf } from "../address-plan.ts"
import { apiClient } from "../real/api-client.ts"
import { workload } from "../real/branches.ts"
import { applyObjects } from "../real/cluster-writes.ts"
import { fleetIs } from "../real/fleet-health.ts"
import { type RealPlayground, usePlayground } from "../real/harness.ts"
import { singleUser } from "../real/single-user.ts"
import { type ClientRelay, startClientRelay } from "../support/client-relay.ts"
import { eventually } from "../support/eventually.ts"
import { isOrder } from "./transcript.ts"

/** Policies by the name of the workload that they are for. */
const policies = {
  calm: { block: ["steal"], env: { exclude: ["DB_*"] }, fs: { notFound: ["^/etc/myapp/settings"] } },
  guarded: { block: [], requireProfile: true, profileAllowlist: ["quiet"] }
}
const demoEnv = Object.entries({ CLUSTER: "cluster", DB_HOST: "db.example", PORT: "80", TCP_PORT: "7000" })

export interface RecordedWorld {
  readonly real: RealPlayground
  /** A relay for one command of the user in the home; at the primary unless told otherwise. */
  readonly relay: (home: string, cluster?: string) => Promise<ClientRelay>
  /** Makes workloads with policies, and waits until they hold. */
  readonly forbid: () => Promise<void>
  /** Waits what becomes of the branches that were ordered, which are then the answers of the orders. */
  readonly settle: (relay: ClientRelay) => Promise<void>
}

export const useRecordedWorld = (user: NetworkUser): RecordedWorld => {
  const real = usePlayground({
    topology: "management",
    subnet: subnetOf(user),
    hasBranches: true,
    refusesSessions: true
  })
  beforeAll(() => fleetIs(real.playground()))
  const primary = () => real.playground().primary.cluster
  return {
    real,
    relay: async (home, cluster) => {
      const kubeconfig = cluster === undefined ? real.kubeconfig() : (await singleUser(real, cluster, "ann")).kubeconfig
      return await startClientRelay(kubeconfig, join(home, "kubeconfig"))
    },
    forbid: async () => {
      const policy = (name: string, spec: object): object => ({
        apiVersion: "policies.mirrord.metalbear.co/v1alpha",
        kind: "MirrordPolicy",
        metadata: { name, namespace: "default" },
        spec: { targetPath: `deploy/${name}`, ...spec }
      })
      const env = demoEnv.map(([name, value]) => ({ name, value }))
      for (const [name, spec] of Object.entries(policies)) {
        for (const cluster of ["cluster-a", "cluster-b"])
          await applyObjects(real.cluster(cluster).cluster, JSON.stringify(workload(name, { env })))
        await applyObjects(real.cluster("cluster-a").cluster, JSON.stringify(policy(name, spec)))
      }
      const person = await Effect.runPromise(newUser(primary(), "probe", join(real.home("probe"), "kubeconfig")))
      // The last policy holds as soon as it refuses, and so do those before it.
      await eventually("a refusal by a policy", async () => {
        const where = { ...person, namespace: "default", target: "deployment.guarded", sessionId: 1n }
        const error = await Effect.runPromise(Effect.flip(Effect.scoped(openSessionSocket(where))))
        if (!error.detail.includes(" 403 ")) throw new Error(error.detail)
      })
    },
    settle: async ({ exchanges }) => {
      for (const order of exchanges.filter((exchange) => isOrder(exchange))) {
        const path = `${order.path.replace(/\?.*/u, "")}/${String(at(JSON.parse(order.body), "metadata", "name"))}`
        const status = await eventually(`what becomes of ${path}`, async () => {
          const { body } = await apiClient(primary().kubeconfigPath).call("GET", path)
          const seen = asObject(at(body, "status"))
          if (seen["phase"] !== "Failed" && seen["phase"] !== "Ready") throw new Error(JSON.stringify(body))
          return seen
        })
        order.answer = JSON.stringify(status)
      }
    }
  }
}

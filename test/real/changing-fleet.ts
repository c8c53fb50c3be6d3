/** mirrord's own client while the primary's configuration changes: clusters go and come, and credentials are others. */

import { Effect } from "effect"
import { afterEach, beforeAll, expect, it } from "vitest"
import { primaryUser } from "../../lab/playground/kubernetes/kubernetes-playground.ts"
import { operatorNamespace } from "../../lab/playground/manifests.ts"
import { encodeBase64Text } from "../../src/domain/fleet/credentials/base64.ts"
import { kubeconfigKey, kubeconfigLabel } from "../../src/domain/fleet/provided-clusters.ts"
import { at } from "../../src/domain/json.ts"
import { rowOf } from "../charts/api-call.ts"
import { auditedCalls } from "../charts/audited-calls.ts"
import { eventually } from "../support/eventually.ts"
import { apiClient } from "./api-client.ts"
import { operatorPods } from "./disturbances.ts"
import { connectedClusters, fleetIs } from "./fleet-health.ts"
import { type AnyRealPlayground, describeReal, type RealPlayground } from "./harness.ts"
import { serve, type ServedSession, serves, type Traffic, traffic } from "./served-session.ts"
import { agents, children, nothingLeft } from "./sessions.ts"

const secretsPath = `/api/v1/namespaces/${operatorNamespace}/secrets`

/** Writes the Secret by which the primary finds a cluster, with a new token for it. */
const provide = async (real: AnyRealPlayground, name: string): Promise<void> => {
  const { cluster } = real.cluster(name)
  const json = { "content-type": "application/json" }
  const account = `/api/v1/namespaces/${operatorNamespace}/serviceaccounts/mirrord-operator-envoy/token`
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3_600 } }
  const { body } = await apiClient(cluster.kubeconfigPath).call("POST", account, JSON.stringify(request), json)
  const kubeconfig = {
    "current-context": name,
    contexts: [{ name, context: { cluster: name, user: "primary" } }],
    clusters: [
      { name, cluster: { server: cluster.server, "certificate-authority-data": encodeBase64Text(cluster.caPem) } }
    ],
    users: [{ name: "primary", user: { token: at(body, "status", "token") } }]
  }
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, labels: { [kubeconfigLabel]: "true" } },
    stringData: { [kubeconfigKey]: JSON.stringify(kubeconfig) }
  }
  const primary = apiClient(real.playground().primary.cluster.kubeconfigPath)
  expect((await primary.call("POST", secretsPath, JSON.stringify(secret), json)).status).toBe(201)
}

const withdraw = async (real: AnyRealPlayground, name: string): Promise<void> => {
  const primary = apiClient(real.playground().primary.cluster.kubeconfigPath)
  expect((await primary.call("DELETE", `${secretsPath}/${name}`)).status).toBe(200)
}

/** The users as which a primary comes to its members. */
const primaries = ["system:serviceaccount:mirrord:mirrord-operator-envoy", primaryUser]

/** The cases of mirrord's own client whose fleet changes, in a playground with three workload clusters. */
export const changingFleet = (real: RealPlayground): void =>
  describeReal("the real client whose fleet changes", ["mirrord", "layerApp"], (binaries) => {
    let session: ServedSession
    let requests: Traffic
    beforeAll(() => fleetIs(real.playground()))
    afterEach(async () => {
      await requests.stop()
      session.app.stop()
    })
    const known = (members: ReadonlyArray<string>): Promise<void> =>
      eventually(`the clusters that the primary knows are ${members.join(", ")}`, async () => {
        const clusters = await connectedClusters(real.playground().primary.cluster)
        expect(clusters.map(({ name }) => name).toSorted()).toEqual(members)
      })
    /** Changes the configuration, as an administrator does, and waits until the primary has taken it up. */
    const configure = async (members: ReadonlyArray<string>): Promise<void> => {
      await Effect.runPromise(real.playground().setMembers(members))
      await known(members)
    }

    it("a cluster is removed, added and found again: the client stays, and the session takes it in", async () => {
      const { primary } = real.playground()
      const operators = [...operatorPods(primary.cluster.store).keys()]
      session = await serve(real, binaries, { user: "fleet", stays: true })
      for (const cluster of ["cluster-a", "cluster-b", "cluster-c"]) await serves(real, session, cluster)
      requests = traffic(real, session)

      const changedAt = Date.now()
      await configure(["cluster-a", "cluster-b"])
      await eventually("the workload of the removed cluster answers by itself", () =>
        expect(requests.answers("cluster-c").at(-1)).toBe("workload")
      )
      await eventually("nothing of the session is left there", () => {
        expect(children(real.cluster("cluster-c"))).toEqual([])
        expect(agents(real.cluster("cluster-c"))).toEqual([])
      })

      await configure(["cluster-a", "cluster-b", "cluster-c"])
      await serves(real, session, "cluster-c")
      await fleetIs(real.playground())

      await configure(["cluster-a", "cluster-b"])
      await provide(real, "cluster-c")
      await known(["cluster-a", "cluster-b", "cluster-c"])
      await serves(real, session, "cluster-c")
      await withdraw(real, "cluster-c")
      await known(["cluster-a", "cluster-b"])
      await eventually("the workload of the cluster without a Secret answers by itself", () =>
        expect(requests.answers("cluster-c").at(-1)).toBe("workload")
      )

      // Each change gave the clusters that stay new credentials. Its probes used them, and nothing was read again.
      for (const name of ["cluster-a", "cluster-b"]) {
        expect(new Set(requests.answers(name)), name).toEqual(new Set(["application"]))
        const { cluster } = real.cluster(name)
        const calls = () => primaries.flatMap((user) => auditedCalls(cluster, user, changedAt))
        await eventually(`a probe of ${name}`, () =>
          expect(calls().map(rowOf)).toContain("get mirrordoperators of operator.metalbear.co")
        )
        const lists = calls().filter(({ verb }) => verb === "list")
        expect(lists.map(rowOf), name).toEqual([])
      }
      expect(session.returns()).toBe(0)
      expect([...operatorPods(primary.cluster.store).keys()]).toEqual(operators)
    })

    it("everything is gone at the end", async () => {
      await nothingLeft(real)
    })
  })

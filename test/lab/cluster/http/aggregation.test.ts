import { once } from "node:events"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { asString, at } from "../../../../src/domain/json.ts"
import { aggregationSuite } from "../../../kubernetes/aggregation-suite.ts"
import { startBackend } from "../aggregated-backend.ts"
import { eventually } from "../api-client.ts"
import { runCluster } from "../running-cluster.ts"

describe("the aggregation layer of the embedded cluster", () => {
  aggregationSuite(async () => {
    const { adminCredentials, close, cluster, credentialsFor } = await runCluster()
    return {
      close,
      cluster: {
        server: cluster.server,
        caPem: cluster.caPem,
        admin: adminCredentials,
        credentialsFor,
        apply: async (yaml) => cluster.apply(yaml),
        stop: () => Effect.runPromise(cluster.stop()),
        restart: () => Effect.runPromise(cluster.restart()),
        host: "127.0.0.1",
        podIp: "127.0.0.1"
      }
    }
  })
})

it("resets both ends of a tunnel when it stops, and has written the upgrade down", async () => {
  const running = await runCluster()
  const { admin, cluster } = running
  const { body } = await admin.get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
  const frontProxyCaPem = asString(at(body, "data", "requestheader-client-ca-file")) ?? ""
  const backend = await startBackend({ group: "tools.example.com", version: "v1", frontProxyCaPem, host: "127.0.0.1" })
  cluster.apply(`
apiVersion: v1
kind: Service
metadata: { name: api, namespace: default }
spec: { type: ExternalName, externalName: localhost, ports: [{ port: ${backend.port} }] }
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: { name: v1.tools.example.com }
spec:
  group: tools.example.com
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  insecureSkipTLSVerify: true
  service: { name: api, namespace: default, port: ${backend.port} }
`)
  const backendFailed = new Promise<Error>((resolve) => {
    backend.onUpgrade((_req, socket) => {
      socket.removeAllListeners("error").on("error", resolve)
      socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
      socket.resume()
    })
  })
  const result = await eventually(
    () => admin.upgrade("/apis/tools.example.com/v1/gadgets/g", {}),
    (answer) => "socket" in answer
  )
  if (!("socket" in result)) throw new Error(`refused: ${result.text}`)
  expect(cluster.callers().at(-1)).toMatchObject({ status: 101, user: "kubernetes-admin" })
  const clientFailed = once(result.socket, "error")
  result.socket.resume()
  await Effect.runPromise(cluster.stop())
  expect(await backendFailed).toMatchObject({ code: "ECONNRESET" })
  expect((await clientFailed)[0]).toMatchObject({ code: "ECONNRESET" })
  await backend.close()
  await running.close()
})

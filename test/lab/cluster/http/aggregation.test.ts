import { once } from "node:events"
import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { asString, at } from "../../../../src/domain/json.ts"
import { aggregationSuite } from "../../../kubernetes/aggregation-suite.ts"
import { turns } from "../../../support/turns.ts"
import { apiServiceAt, startBackend } from "../aggregated-backend.ts"
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

/** A cluster with an aggregated API that does with an upgraded connection as it is told, and a client's connection. */
const openTunnel = async (upgraded: (socket: Duplex) => void) => {
  const running = await runCluster()
  const { admin, cluster } = running
  const { body } = await admin.get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
  const frontProxyCaPem = asString(at(body, "data", "requestheader-client-ca-file")) ?? ""
  const backend = await startBackend({ group: "tools.example.com", version: "v1", frontProxyCaPem, host: "127.0.0.1" })
  cluster.apply(apiServiceAt("tools.example.com", backend.port))
  backend.onUpgrade((_req, socket) => {
    socket.removeAllListeners("error")
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    upgraded(socket)
  })
  const result = await eventually(
    () => admin.upgrade("/apis/tools.example.com/v1/gadgets/g", {}),
    (answer) => "socket" in answer
  )
  if (!("socket" in result)) throw new Error(`refused: ${result.text}`)
  return {
    cluster,
    client: result.socket,
    close: async () => {
      await backend.close()
      await running.close()
    }
  }
}

it("resets both ends of a tunnel when it stops, and has written the upgrade down", async () => {
  let failed: Promise<unknown> | undefined
  const { client, close, cluster } = await openTunnel((socket) => {
    failed = once(socket, "error")
    socket.resume()
  })
  expect(cluster.callers().at(-1)).toMatchObject({ status: 101, user: "kubernetes-admin" })
  const clientFailed = once(client, "error")
  client.resume()
  await Effect.runPromise(cluster.stop())
  expect(await failed).toMatchObject([{ code: "ECONNRESET" }])
  expect(await clientFailed).toMatchObject([{ code: "ECONNRESET" }])
  await close()
})

it("resets the backend's end of a tunnel whose client is lost, also while neither end reads", async () => {
  const piece = Buffer.alloc(1024 * 1024)
  /** Writes until nothing more is taken for a while. */
  const fill = async (socket: Duplex): Promise<void> => {
    while (socket.writable) {
      if (socket.write(piece)) continue
      const drained = await Promise.race([once(socket, "drain").then(() => true), turns().then(() => false)])
      if (!drained) return
    }
  }
  let backendEnd: Duplex | undefined
  const { client, close } = await openTunnel((socket) => {
    backendEnd = socket.pause()
  })
  if (backendEnd === undefined) throw new Error("the backend has no connection")
  const failed = once(backendEnd, "error")
  client.on("error", () => undefined).pause()
  await Promise.all([fill(client), fill(backendEnd)])
  client.destroy()
  expect(await failed).toMatchObject([{ code: expect.stringMatching(/^(?:ECONNRESET|EPIPE)$/u) }])
  await close()
})

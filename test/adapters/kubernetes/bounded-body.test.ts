import { createServer, type ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { readBody } from "../../../src/adapters/kubernetes/bounded-body.ts"
import { makeKubeApi } from "../../../src/adapters/kubernetes/kube-api-http.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeApi, KubeError } from "../../../src/ports/kube-api.ts"
import { listenLocally } from "../../support/listen-locally.ts"

describe("the body of an answer", () => {
  it("is read whole up to the bound, and not beyond", async () => {
    const pieces = [Buffer.from("ab"), Buffer.from("cd")]
    expect((await readBody(Readable.from(pieces), 4)).toString()).toBe("abcd")
    expect((await readBody(Readable.from([]), 4)).toString()).toBe("")
    const body = Readable.from(pieces)
    await expect(readBody(body, 3)).rejects.toThrow("the answer is longer than")
    expect(body.destroyed).toBe(true)
  })
})

/** Sends for ever, as fast as the other side takes it. */
const sendForEver = async (response: ServerResponse, counted: (bytes: number) => void): Promise<void> => {
  const piece = Buffer.alloc(1024 * 1024, " ")
  const comes = async (event: string): Promise<void> => new Promise((resolve) => void response.once(event, resolve))
  const closed = comes("close")
  while (!response.destroyed) {
    counted(piece.length)
    if (!response.write(piece)) await Promise.race([comes("drain"), closed])
  }
}

describe("a member's API server that answers without end", () => {
  const askIt = async (status: number, ask: (api: KubeApi) => Effect.Effect<unknown, KubeError>) => {
    let sent = 0
    const server = createServer((_request, response) => {
      response.on("error", () => {})
      response.writeHead(status, { "content-type": "application/json" })
      void sendForEver(response, (bytes) => {
        sent += bytes
      })
    })
    const port = await listenLocally(server)
    const config = new KubeConfig()
    config.loadFromClusterAndUser(
      { name: "m", server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
      { name: "primary" }
    )
    const error = await Effect.runPromise(
      Effect.scoped(Effect.flatMap(makeKubeApi(config, "m"), (api) => Effect.flip(ask(api))))
    )
    server.closeAllConnections()
    server.close()
    return { error, sent: sent / 1024 / 1024 }
  }

  it("has its object cut off", async () => {
    const { error, sent } = await askIt(200, (api) => api.get(pods, "p", "default"))
    expect(error).toMatchObject({ cluster: "m", reason: "Unreachable", detail: expect.stringContaining("4096 KiB") })
    expect(sent).toBeLessThan(64)
  })

  it("has its list cut off", async () => {
    const { error, sent } = await askIt(200, (api) => api.list(pods))
    expect(error).toMatchObject({ reason: "Unreachable", detail: expect.stringContaining("8192 KiB") })
    expect(sent).toBeLessThan(256)
  })

  it("has its refusal cut off, whose code tells enough", async () => {
    const { error, sent } = await askIt(403, (api) => api.get(pods, "p", "default"))
    expect(error).toMatchObject({ reason: "Forbidden", code: 403 })
    expect(sent).toBeLessThan(64)
  })
})

import http2 from "node:http2"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { Connections } from "../../../src/adapters/kubernetes/connections.ts"
import { listenLocally } from "../../support/listen-locally.ts"

describe("connections to an API server that speaks HTTP/2", () => {
  const times = { connectTimeout: 60_000, headersTimeout: 60_000, bodyTimeout: 60_000 }
  let server: http2.Http2SecureServer
  let connections: Connections
  let origin: string

  beforeAll(async () => {
    const authority = await createAuthority("ca", Date.now)
    const { certPem, keyPem } = await authority.issue({ commonName: "c", sans: [{ type: "ip", value: "127.0.0.1" }] })
    server = http2.createSecureServer({ cert: certPem, key: keyPem, allowHTTP1: true }, (request, answer) => {
      request.resume().once("end", () => answer.end(request.httpVersion))
    })
    origin = `https://127.0.0.1:${await listenLocally(server)}`
    connections = new Connections({ ca: authority.caPem }, times)
  })
  afterAll(async () => {
    await connections.destroy()
    server.close()
  })

  // Over HTTP/2 a request that is given up with its body unsent would never let the process go on.
  it.each([
    ["GET", null, "2.0"],
    ["DELETE", null, "2.0"],
    ["POST", "{}", "1.1"],
    ["PATCH", "{}", "1.1"],
    ["DELETE", "{}", "1.1"]
  ] as const)("%s with the body %s goes over HTTP/%s", async (method, body, version) => {
    const { body: answer } = await connections.request({ origin, path: "/", method, body })
    expect(await answer.text()).toBe(version)
  })
})

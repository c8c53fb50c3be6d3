/** `mirrord diagnose latency` (operator-api.md §4.8): an upgrade without a session. */

import { once } from "node:events"
import { afterEach, beforeAll, expect, it } from "vitest"
import { WebSocket } from "ws"
import type { ApiServerOptions } from "../../../src/app/api/aggregated-api.ts"
import { clientMessage, type ClientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { type Certificates, comes, makeCertificates, root, runApi, textOf, upgradeText } from "./running-api.ts"

const path = `${root}/mirrordoperators/operator/ping`
const ping: ClientMessage = { _tag: "Ping" }

let certificates: Certificates
beforeAll(async () => {
  certificates = await makeCertificates()
})

const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

const start = async (options: Partial<ApiServerOptions> = {}) => {
  const api = await runApi(certificates, options)
  closers.push(api.stop)
  return api
}

/** A client of the ping, and what it hears. */
const pinging = async (port: number) => {
  const { other, proxy } = certificates
  const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, ["v4.channel.k8s.io"], {
    ca: other.caPem,
    cert: proxy.certPem,
    key: proxy.keyPem,
    perMessageDeflate: false,
    // The client's own way (operator-api.md §2.2).
    headers: { "X-Remote-User": "dev", "x-client-der": "AAAA, AAAA" }
  })
  await once(socket, "open")
  const ask = async (message: ClientMessage) => {
    socket.send(clientMessage.encode(message))
    const [bytes] = (await once(socket, "message")) as [Buffer]
    return daemonMessage.decode(bytes)
  }
  return { socket, ask }
}

it("answers each Ping with one Pong, without a session", async () => {
  const { port } = await start()
  const { ask, socket } = await pinging(port)
  let heard = 0
  socket.on("message", () => heard++)
  for (let round = 0; round < 101; round++) expect(await ask(ping)).toMatchObject({ value: { _tag: "Pong" } })
  expect(heard).toBe(101)
  socket.terminate()
})

it("ends with a sentence when anything else is asked", async () => {
  const { port } = await start()
  const { ask, socket } = await pinging(port)
  const closed = comes(socket, "close")
  expect(await ask({ _tag: "ReadyForLogs" })).toMatchObject({
    value: { _tag: "Close", value: expect.stringContaining("answers pings only") as string }
  })
  await closed
})

it("is refused without a sound handshake", async () => {
  const api = await start()
  const socket = await api.dial(certificates.proxy)
  socket.write(upgradeText(path, {}, ["Sec-WebSocket-Key"]))
  expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 400 /)
})

it.each([["with a certificate", { "x-client-der": "AAAA" }] as const, ["without one", {}] as const])(
  "counts as a request of its user until it ends, %s",
  async (_what, headers) => {
    const api = await start({ bounds: { requestsPerUser: 1, connections: 10 } })
    const first = await api.dial(certificates.proxy)
    first.write(upgradeText(path, headers))
    await once(first, "data")
    const second = await api.dial(certificates.proxy)
    second.write(upgradeText(path, headers))
    expect(await textOf(second)).toContain("bounds.requestsPerUser")
  }
)

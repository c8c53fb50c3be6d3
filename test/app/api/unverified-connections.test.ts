import { once } from "node:events"
import net from "node:net"
import type { TLSSocket } from "node:tls"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { maxStrangers } from "../../../src/app/api/unverified-connections.ts"
import { eventually } from "../../support/eventually.ts"
import { type Certificates, comes, connectText, makeCertificates, root, runApi, textOf } from "./running-api.ts"

let certificates: Certificates
beforeAll(async () => {
  certificates = await makeCertificates()
})

const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})
const run = async (options: Parameters<typeof runApi>[1] = {}) => {
  const api = await runApi(certificates, options)
  closers.push(api.stop)
  return api
}
const head = (bytes: number): string => `GET /health HTTP/1.1\r\nHost: operator\r\nX-Padding: ${"x".repeat(bytes)}`
/** Goes on writing, which fails when the other side is gone for good. */
const untilCut = async (socket: TLSSocket): Promise<void> => {
  while (!socket.destroyed) {
    socket.write("x")
    await new Promise(setImmediate)
  }
}

describe("a connection that is not the front proxy's", () => {
  it("gets an answer to a probe, and then ends", async () => {
    const { dial } = await run()
    const socket = await dial(undefined)
    socket.write("GET /health HTTP/1.1\r\nHost: operator\r\n\r\n")
    expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n(?=[^]*connection: close\r\n)[^]*ok$/iu)
    socket.destroy()
  })

  it.each(["no certificate", "another's certificate"])(
    "is ended after 16 KiB of headers without an end: %s",
    async (what) => {
      const { dial } = await run({ patience: 60_000 })
      const sockets = await Promise.all(
        Array.from({ length: 10 }, async () => dial(what === "no certificate" ? undefined : certificates.stranger))
      )
      const texts = sockets.map(async (socket) => {
        const text = textOf(socket)
        socket.write(head(900_000))
        return text
      })
      // Some lose the answer, because the connection is cut while they are still writing.
      for (const text of await Promise.all(texts)) expect(["", "HTTP/1.1 431"]).toContain(text.slice(0, 12))
      for (const socket of sockets) socket.destroy()
    }
  )

  it("may not last: silent, dribbling or in the middle of its handshake", async () => {
    const { dial, get, port } = await run({ patience: 100 })
    const silent = await dial(undefined)
    const dribbling = await dial(undefined)
    dribbling.write(head(10))
    const handshaking = net.connect({ host: "127.0.0.1", port })
    await once(handshaking, "connect")
    await Promise.all([textOf(silent), textOf(dribbling), comes(handshaking.resume(), "close")])
    for (const socket of [silent, dribbling, handshaking]) socket.destroy()
    // A handshake may take longer than the patience on a machine that does much else.
    await eventually("an answer", async () => expect((await get(root)).status).toBe(200))
  })

  it("is cut off after a refused upgrade, whether it closes its own side or not", async () => {
    const { dial } = await run({ patience: 1_000 })
    const sockets = await Promise.all(Array.from({ length: 10 }, async () => dial(undefined)))
    await Promise.all(
      sockets.map(async (socket) => {
        socket.write(connectText())
        expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 401 /u)
        await untilCut(socket)
      })
    )
  })

  it("gives way when there are too many, so that the front proxy is served all the time", async () => {
    const { get, port } = await run({ patience: 60_000 })
    const sockets = Array.from({ length: maxStrangers + 40 }, () => net.connect({ host: "127.0.0.1", port }))
    let ended = 0
    const enough = Promise.withResolvers<void>()
    for (const socket of sockets) {
      socket.on("error", () => {})
      socket.on("close", () => {
        ended++
        if (ended === 40) enough.resolve()
      })
      socket.resume()
    }
    await enough.promise
    expect((await get(root)).status).toBe(200)
    for (const socket of sockets) socket.destroy()
  })
})

describe("the front proxy's connection", () => {
  it("stays, silent or not, and may bring large headers", async () => {
    const { dial } = await run({ patience: 50 })
    const proxied = await dial(certificates.proxy)
    const stranger = await dial(undefined)
    await textOf(stranger)
    stranger.destroy()
    const answer = new Promise<string>((resolve) => proxied.once("data", (bytes: Buffer) => resolve(bytes.toString())))
    proxied.write(
      `GET ${root} HTTP/1.1\r\nHost: operator\r\nX-Remote-User: dev\r\nX-Padding: ${"x".repeat(900_000)}\r\n\r\n`
    )
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK/u)
    proxied.destroy()
  })

  it("is cut off after a refused upgrade too", async () => {
    const { dial } = await run({ patience: 50 })
    const socket = await dial(certificates.proxy)
    socket.write(connectText())
    expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 403 /u)
    await untilCut(socket)
  })
})

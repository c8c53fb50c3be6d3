/** TLS with agents, as far as the channel test does not show it: what the operator makes of peers that do it wrong. */

import { once } from "node:events"
import net, { type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { dialAgent } from "../../../src/adapters/agents/agent-channel.ts"
import { makeAgentTls } from "../../support/agent-tls.ts"
import { listenLocally } from "../../support/listen-locally.ts"

const closers: Array<() => void> = []
afterEach(() => closers.splice(0).forEach((close) => close()))

const tls = await makeAgentTls()
const another = await makeAgentTls()

/** Something that listens where an agent should, and all that it was sent. */
const listening = async (accept: (socket: Socket) => void): Promise<{ port: number; heard: () => Buffer }> => {
  const chunks: Array<Buffer> = []
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined)
    socket.on("data", (chunk) => chunks.push(chunk))
    closers.push(() => socket.destroy())
    accept(socket)
  })
  closers.push(() => server.close())
  return { port: await listenLocally(server), heard: () => Buffer.concat(chunks) }
}

const refused = async (port: number, timeout = 100_000): Promise<string> => {
  const error = await Effect.runPromise(Effect.flip(dialAgent("127.0.0.1", port, { tls, timeout })))
  expect(error).toMatchObject({ _tag: "AgentUnreachable", agent: `127.0.0.1:${port}` })
  return error.detail
}

/** The TLS of an agent that trusts this certificate and asks for this name. */
const agentWith =
  (ca: string, servername: string | undefined, rejectUnauthorized = true) =>
  (socket: Socket) =>
    connectTls({ socket, ca, rejectUnauthorized, ...(servername === undefined ? {} : { servername }) }).on(
      "error",
      () => undefined
    )

describe("an agent that is to speak TLS", () => {
  it.each([
    [
      "was started with the certificate of another operator",
      agentWith(another.certificatePem, tls.serverName),
      /the TLS handshake failed \(.+\): it refuses the operator's certificate, or speaks clear text/
    ],
    [
      "is a stranger that trusts everybody and knows no name",
      agentWith(tls.certificatePem, undefined, false),
      /asks for no name instead of the operator's/
    ],
    [
      "is a stranger that trusts everybody and was made for another agent",
      agentWith(another.certificatePem, another.serverName, false),
      /asks for "mirrord-agent-x-[0-9a-f]{16}" instead of the operator's/
    ],
    [
      "speaks first, in clear text",
      (socket: Socket) => void socket.write("\u0000\u0001\u0002 no TLS"),
      /handshake failed/
    ],
    ["hangs up", (socket: Socket) => void socket.end(), /handshake failed/],
    ["is reset", (socket: Socket) => void socket.resetAndDestroy(), /ECONNRESET|handshake failed/]
  ])("fails when it %s", async (_what, accept, reason) => {
    const { port } = await listening(accept)
    expect(await refused(port)).toMatch(reason)
  })

  it("fails when it waits for clear text, and is sent none", async () => {
    const { heard, port } = await listening(() => undefined)
    expect(await refused(port, 50)).toBe("no TLS handshake within 50 ms: it speaks clear text, or hangs")
    expect(heard()).toHaveLength(0)
  })

  it("fails, and nothing else does, when OpenSSL cannot use what stands behind its certificate", async () => {
    const { heard, port } = await listening(() => undefined)
    const certificatePem = `${tls.certificatePem}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`
    const failing = dialAgent("127.0.0.1", port, { tls: { ...tls, certificatePem } })
    const { detail } = await Effect.runPromise(Effect.flip(failing))
    expect(detail).toMatch(/^the operator's certificate in its Job cannot be used \(.+\)$/)
    expect(heard()).toHaveLength(0)
  })

  it("is cut off when nobody waits for it any more", async () => {
    let ended: Promise<unknown> = Promise.resolve()
    const { port } = await listening((socket) => {
      ended = once(socket, "close")
    })
    await Effect.runPromise(Effect.timeoutOption(dialAgent("127.0.0.1", port, { tls }), 50))
    await ended
  })

  it("never hears a key", async () => {
    const { heard, port } = await listening((socket) => void agentWith(tls.certificatePem, tls.serverName)(socket))
    const channel = await Effect.runPromise(dialAgent("127.0.0.1", port, { tls }))
    channel.close()
    expect(heard().toString("latin1")).not.toContain("PRIVATE")
  })
})

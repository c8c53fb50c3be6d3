import { once } from "node:events"
import { readFileSync } from "node:fs"
import net, { type Socket } from "node:net"
import { connect } from "node:tls"
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { dialAgent } from "../../../src/adapters/agents/agent-channel.ts"
import type { AgentTls } from "../../../src/adapters/agents/secure-agent.ts"
import { daemonBulk } from "../../../src/domain/protocol/bulk.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import { makeAgentTls } from "../../support/agent-tls.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { turns } from "../../support/turns.ts"

const closers: Array<() => void> = []
afterEach(() => closers.splice(0).forEach((close) => close()))

const operator = await makeAgentTls()

/** The agent's end of a connection: of TCP, and of what carries messages. */
interface AgentsEnd {
  readonly raw: Socket
  readonly agent: Socket
}

const inClearText = (raw: Socket): Promise<AgentsEnd> => Promise.resolve({ raw, agent: raw })
const overTls = async (raw: Socket): Promise<AgentsEnd> => {
  const { certificatePem, serverName } = operator
  const agent = connect({ socket: raw, ca: certificatePem, servername: serverName })
  await once(agent, "secureConnect")
  return { raw, agent }
}

/** An agent's port; gives the channel to it and the agent's end. */
const dialledOver =
  (tls: AgentTls | undefined, speak: typeof overTls) =>
  async (): Promise<AgentsEnd & { readonly channel: FrameChannel }> => {
    const server = net.createServer({ allowHalfOpen: true })
    const port = await listenLocally(server)
    const accepted = (once(server, "connection") as Promise<[Socket]>).then(([raw]) => speak(raw))
    const channel = await Effect.runPromise(dialAgent("127.0.0.1", port, { timeout: 100_000, tls }))
    const { agent, raw } = await accepted
    for (const socket of [agent, raw]) socket.on("error", () => {})
    closers.push(() => {
      raw.destroy()
      server.close()
    })
    return { channel, agent, raw }
  }

const listen = (channel: FrameChannel) => {
  const messages: Array<Uint8Array> = []
  const ends: Array<string> = []
  let wake = (): void => {}
  channel.open({
    message: (bytes) => {
      messages.push(bytes)
      wake()
    },
    ended: (reason) => {
      ends.push(reason)
      wake()
    },
    drained: () => {},
    ignored: () => {}
  })
  const until = async (done: () => boolean): Promise<void> => {
    while (!done()) await new Promise<void>((resolve) => (wake = resolve))
  }
  return { messages, ends, until }
}

const pong = daemonMessage.encode({ _tag: "Pong" })
const close = daemonMessage.encode({ _tag: "Close", value: "a longer reason ".repeat(20) })

describe.each([
  ["clear text", dialledOver(undefined, inClearText)],
  ["TLS", dialledOver(operator, overTls)]
])("a channel to an agent, in %s,", (_, dialled) => {
  it("cuts the stream into messages however it is chunked, and loses nothing from before it was opened", async () => {
    const { agent, channel } = await dialled()
    const all = Buffer.concat([pong, close, pong, close])
    agent.write(all.subarray(0, 1))
    await turns()
    const { messages, until } = listen(channel)
    for (let at = 1; at < all.length; at += 97) {
      agent.write(all.subarray(at, at + 97))
      await turns()
    }
    await until(() => messages.length === 4)
    expect(messages.map((bytes) => Buffer.from(bytes))).toEqual(
      [pong, close, pong, close].map((bytes) => Buffer.from(bytes))
    )
    channel.close()
  })

  it("delivers the messages before garbage and then ends with the place of the error", async () => {
    const { agent, channel } = await dialled()
    const { ends, messages, until } = listen(channel)
    const gone = once(agent.resume(), "close")
    agent.write(Buffer.concat([pong, Buffer.from([250, 250, 250])]))
    agent.end()
    await until(() => ends.length > 0)
    expect(messages).toHaveLength(1)
    expect(ends[0]).toMatch(/^DaemonMessage/)
    await gone
    expect(ends).toHaveLength(1)
  })

  it.each([
    ["closes", ({ agent }: AgentsEnd) => agent.end(), /closed the connection/],
    [
      "closes inside a message",
      ({ agent }: AgentsEnd) => agent.end(close.subarray(0, 10)),
      /broke off inside a message/
    ],
    // A write of TLS may meet the reset first; the read then finds an end.
    ["resets", ({ raw }: AgentsEnd) => raw.resetAndDestroy(), /ECONNRESET|is gone|closed the connection/]
  ])("ends once when the agent %s", async (_what, leave, reason) => {
    const { agent, channel, raw } = await dialled()
    const { ends, until } = listen(channel)
    leave({ agent, raw })
    await until(() => ends.length > 0)
    await turns()
    expect(ends).toEqual([expect.stringMatching(reason)])
    channel.send(Buffer.from("into the void"))
  })

  it("tells of an end that came before it was opened", async () => {
    const { channel, raw } = await dialled()
    raw.resetAndDestroy()
    await turns()
    channel.send(Buffer.from("x"))
    await turns()
    const { ends, until } = listen(channel)
    await until(() => ends.length > 0)
    expect(ends).toHaveLength(1)
  })

  it("sends in order, what is queued before its close too, and hears nothing afterwards", async () => {
    const { agent, channel } = await dialled()
    const { ends, messages } = listen(channel)
    const parts: Array<Buffer> = []
    agent.on("data", (chunk) => parts.push(chunk))
    for (let i = 0; i < 100; i++) channel.send(Buffer.from([i]))
    channel.close()
    channel.send(Buffer.from([255]))
    await once(agent, "end")
    expect([...Buffer.concat(parts)]).toEqual(Array.from({ length: 100 }, (_, index) => index))
    agent.end(pong)
    await once(agent, "close")
    expect([messages, ends]).toEqual([[], []])
  })

  it("closed while paused is gone for the agent too", async () => {
    const { agent, channel } = await dialled()
    listen(channel)
    channel.pause()
    agent.write(Buffer.alloc(1000, 0xff))
    channel.close()
    agent.resume()
    await once(agent, "end")
    agent.end()
    await once(agent, "close")
  })

  it("paused, brakes the agent; resumed, goes on", async () => {
    const { agent, channel } = await dialled()
    const { messages, until } = listen(channel)
    channel.pause()
    const many = Buffer.concat(Array.from({ length: 200_000 }, () => close))
    agent.write(many)
    await turns()
    expect(messages).toEqual([])
    expect(agent.writableLength).toBeGreaterThan(0)
    channel.resume()
    await until(() => messages.length === 200_000)
  })

  it("passes bulk messages on where they lie, and delivers none of them", async () => {
    const [from, to] = await Promise.all([dialled(), dialled()])
    const [passed, delivered]: [number[], Array<Uint8Array>] = [[], []]
    from.channel.open({
      routeOf: (head, length) => {
        if (daemonBulk.measure(head, 0, Math.min(head.length, length)) !== length) return undefined
        passed.push(length)
        return { to: to.channel, idAt: daemonBulk.idAt, idLength: daemonBulk.idLength, id: undefined }
      },
      message: (bytes) => delivered.push(bytes),
      ended: () => undefined,
      drained: () => undefined,
      ignored: () => undefined
    })
    const sizes = Array.from({ length: 300 }, (_, index) => [1, 700, 9_000, 70_000][index % 4] ?? 0)
    const data = sizes.map((size, index) =>
      Buffer.from(
        daemonMessage.encode({
          _tag: "TcpSteal",
          value: { _tag: "Data", value: { connectionId: 7n, bytes: Buffer.alloc(size, index) } }
        })
      )
    )
    const all = Buffer.concat(data)
    const [chunks, complete] = [new Array<Buffer>(), Promise.withResolvers<void>()]
    let arrived = 0
    to.agent.on("data", (chunk) => {
      chunks.push(chunk)
      arrived += chunk.length
      if (arrived >= all.length) complete.resolve()
    })
    from.agent.write(all)
    await complete.promise
    expect(Buffer.compare(Buffer.concat(chunks), all)).toBe(0)
    expect(passed).toEqual(data.map(({ length }) => length))
    expect(delivered).toEqual([])
  })

  it("is asked by the system now and then whether the agent is still there", async () => {
    const { channel, raw } = await dialled()
    const hex = (port: number | undefined): string => (port ?? 0).toString(16).toUpperCase().padStart(4, "0")
    // Our end of the connection: local address, remote address, …, the kind of its timer; 02 is that of keep-alive.
    const ours = new RegExp(`:${hex(raw.remotePort)} \\S+:${hex(raw.localPort)} \\S+ \\S+ (\\d\\d):`)
    expect(ours.exec(readFileSync("/proc/net/tcp", "utf8"))?.[1]).toBe("02")
    channel.close()
  })

  it("that nobody answers fails with the agent's address", async () => {
    const server = net.createServer()
    const port = await listenLocally(server)
    server.close()
    await once(server, "close")
    const error = await Effect.runPromise(Effect.flip(dialAgent("127.0.0.1", port, { timeout: 100_000 })))
    expect(error).toMatchObject({
      _tag: "AgentUnreachable",
      isRefused: true,
      agent: `127.0.0.1:${port}`,
      detail: expect.stringContaining("ECONNREFUSED")
    })
  })
})

import { once } from "node:events"
import http from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { afterEach, describe, expect, it } from "vitest"
import WebSocket from "ws"
import { makeWebSocketAcceptor } from "../../../src/adapters/websocket/accept-websocket.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { turns } from "../../support/turns.ts"
import { untilTrue } from "../../support/until-true.ts"

const closers: Array<() => void> = []
afterEach(() => closers.splice(0).forEach((close) => close()))

const pair = async (
  largest = 1024 * 1024
): Promise<{ readonly server: Duplex; readonly client: WebSocket; readonly channel: FrameChannel }> => {
  const acceptor = makeWebSocketAcceptor({ largest })
  const listener = http.createServer()
  const made = new Promise<readonly [Duplex, FrameChannel]>((resolve) => {
    listener.on("upgrade", (request, socket, head) =>
      acceptor.accept({ request, socket, head }, undefined, (channel) => resolve([socket, channel]))
    )
  })
  const client = new WebSocket(`ws://127.0.0.1:${await listenLocally(listener)}`, { perMessageDeflate: false })
  client.on("error", () => {})
  const [server, channel] = await made
  closers.push(() => {
    client.terminate()
    server.destroy()
    listener.close()
  })
  if (client.readyState !== client.OPEN) await once(client, "open")
  return { server, client, channel }
}

/** Notes everything that a channel delivers. */
const listen = (channel: FrameChannel) => {
  const events: Array<string> = []
  const waiting: Array<() => void> = []
  const note = (event: string): void => {
    events.push(event)
    for (const wake of waiting.splice(0)) wake()
  }
  channel.open({
    message: (bytes) => note(`message ${Buffer.from(bytes).toString()}`),
    ended: (reason) => note(`ended ${reason}`),
    drained: () => {},
    ignored: (what) => note(`ignored ${what}`)
  })
  const until = async (count: number): Promise<ReadonlyArray<string>> => {
    while (events.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
    return events
  }
  return { events, until }
}

/** Bytes that a client's socket has read. */
const bytesOf = (client: WebSocket): number => {
  const { _socket: socket } = client as unknown as { readonly _socket: Socket }
  return socket.bytesRead
}

const frames = (client: WebSocket) => {
  const seen: Array<string> = []
  client.on("message", (data: Buffer, isBinary: boolean) =>
    seen.push(`${isBinary ? "binary" : "text"} ${data.toString()}`)
  )
  client.on("ping", () => seen.push("ping"))
  client.on("pong", () => seen.push("pong"))
  client.on("close", (code: number) => seen.push(`close ${code}`))
  return seen
}

describe("a channel over a WebSocket", () => {
  it("acknowledges by bytes that are no message, behind which every frame is read as before", async () => {
    const { channel, client, server } = await pair()
    listen(channel)
    const seen = frames(client)
    const acknowledge = async (): Promise<void> => {
      const before = bytesOf(client)
      channel.acknowledge?.()
      channel.acknowledge?.()
      await untilTrue("the acknowledgement", () => bytesOf(client) > before)
    }
    await acknowledge()
    client.ping()
    await untilTrue("the pong", () => seen.includes("pong"))
    channel.send(Buffer.from("one"))
    channel.acknowledge?.()
    channel.send(Buffer.from("two"))
    await untilTrue("both messages", () => seen.length === 3)
    await acknowledge()
    const large = Buffer.alloc(17 * 1024 * 1024, "x")
    channel.send(large)
    await untilTrue("the large message", () => seen.length === 4)
    expect(seen).toEqual(["pong", "binary one", "binary two", `binary ${large.toString()}`])
    await acknowledge()
    channel.close()
    channel.acknowledge?.()
    await untilTrue("the end", () => seen.at(-1) === "close 1000")
    expect(server.writableLength).toBe(0)
  })

  it("carries binary messages both ways in order, also when many are sent in one turn", async () => {
    const { channel, client } = await pair()
    const heard = listen(channel)
    const seen = frames(client)
    const all = Array.from({ length: 200 }, (_, index) => String(index))
    for (const text of all) client.send(Buffer.from(text))
    expect(await heard.until(200)).toEqual(all.map((text) => `message ${text}`))
    for (const text of all) channel.send(Buffer.from(text))
    channel.send(Buffer.from("end"))
    await untilTrue("the last message", () => seen.at(-1) === "binary end")
    expect(seen).toEqual([...all, "end"].map((text) => `binary ${text}`))
  })

  it("delivers what came before it was opened, text and end included, in order", async () => {
    const { channel, client } = await pair()
    client.send(Buffer.from("one"))
    client.send("text")
    client.send(Buffer.from("two"))
    client.close(1000, "done")
    await turns()
    const { until } = listen(channel)
    expect(await until(4)).toEqual(["message one", "ignored text frame", "message two", "ended 1000 done"])
  })

  it("reports the end once: a close, and a peer that vanishes", async () => {
    for (const leave of [(client: WebSocket) => client.close(), (client: WebSocket) => client.terminate()]) {
      const { channel, client, server } = await pair()
      const heard = listen(channel)
      leave(client)
      const [event] = await heard.until(1)
      expect(event).toMatch(/^ended code 100[56]$/)
      if (!server.closed) await once(server, "close")
      await turns()
      expect(heard.events).toHaveLength(1)
      channel.send(Buffer.from("into the void"))
      channel.close()
    }
  })

  it("sends what is queued before it closes, and reports nothing afterwards", async () => {
    const { channel, client } = await pair()
    const heard = listen(channel)
    const seen = frames(client)
    channel.send(Buffer.alloc(300_000, "x"))
    channel.send(Buffer.from("last"))
    channel.close()
    channel.close()
    channel.send(Buffer.from("too late"))
    await once(client, "close")
    expect(seen.slice(1)).toEqual(["binary last", "close 1000"])
    await turns()
    expect(heard.events).toEqual([])
  })

  it("delivers nothing when it was closed before it was opened", async () => {
    const { channel, client } = await pair()
    client.send(Buffer.from("one"))
    await turns()
    channel.close()
    const { events } = listen(channel)
    await once(client, "close")
    expect(events).toEqual([])
  })

  it("stops delivering early messages when a handler closes it", async () => {
    const { channel, client, server } = await pair()
    client.send(Buffer.from("one"))
    client.send(Buffer.from("two"))
    client.close()
    await turns()
    const events: Array<string> = []
    channel.open({
      message: (bytes) => {
        events.push(Buffer.from(bytes).toString())
        channel.close()
      },
      ended: () => events.push("ended"),
      drained: () => {},
      ignored: () => {}
    })
    if (!server.closed) await once(server, "close")
    expect(events).toEqual(["one"])
  })

  it("sends nothing but what it is told to: no ping, no text, no close", async () => {
    const { channel, client } = await pair()
    const heard = listen(channel)
    const seen = frames(client)
    for (let i = 0; i < 20; i++) {
      client.send(Buffer.from("x"))
      await heard.until(i + 1)
    }
    channel.send(Buffer.from("only"))
    await untilTrue("a message", () => seen.length > 0)
    expect(seen).toEqual(["binary only"])
  })

  it("paused, reads nothing; resumed, delivers everything", async () => {
    const { channel, client } = await pair()
    const heard = listen(channel)
    channel.pause()
    const size = 256 * 1024
    for (let i = 0; i < 64; i++) client.send(Buffer.alloc(size, "x"))
    await turns()
    expect(heard.events.length).toBeLessThan(64)
    expect(client.bufferedAmount).toBeGreaterThan(0)
    channel.resume()
    expect(await heard.until(64)).toHaveLength(64)
  })

  it("counts what is queued and says when it is gone", async () => {
    const { channel, client } = await pair()
    client.pause()
    let drained = 0
    const woken = new Promise<void>((resolve) => {
      channel.open({
        message: () => {},
        ended: () => {},
        drained: () => {
          drained++
          resolve()
        },
        ignored: () => {}
      })
    })
    for (let i = 0; i < 64; i++) channel.send(new Uint8Array(256 * 1024))
    expect(channel.queuedBytes()).toBeGreaterThan(1024 * 1024)
    client.resume()
    await woken
    expect(drained).toBe(1)
    expect(channel.queuedBytes()).toBe(0)
  })

  it("a message that is too large ends this channel", async () => {
    const { channel, client } = await pair(1_000)
    const heard = listen(channel)
    const closed = once(client, "close")
    client.send(Buffer.alloc(1_001))
    expect((await heard.until(1))[0]).toMatch(/^ended .*exceeded/i)
    await closed
    expect(heard.events).toHaveLength(1)
  })
})

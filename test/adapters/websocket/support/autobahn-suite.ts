/**
 * Lets the Autobahn testsuite itself test the WebSocket adapter, as a server and as a client. The suite needs Python 2:
 *
 *     export PYTHONUSERBASE=/tmp/autobahn
 *     python2.7 -m pip install --user autobahntestsuite
 *     node test/adapters/websocket/support/autobahn-suite.ts python2.7 /tmp/autobahn/bin/wstest
 *
 * Once every message goes through its handler, and once binary messages are passed on in place (`in-place`). The suite
 * expects its texts back, and a channel checks texts and leaves them out: so a reader of this test's own (raw-peer.ts)
 * keeps the texts, and the channel says which of them are good. The families about compression, which is not offered,
 * are left out.
 */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import http from "node:http"
import net, { type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import WebSocket from "ws"
import { makeWebSocketAcceptor } from "../../../../src/adapters/websocket/accept-websocket.ts"
import { noteListeners } from "../../../../src/adapters/websocket/added-listeners.ts"
import { WebSocketChannel } from "../../../../src/adapters/websocket/websocket-channel.ts"
import { opcode } from "../../../../src/domain/websocket/frame-header.ts"
import type { FrameChannel } from "../../../../src/ports/frame-channel.ts"
import { freePort } from "../../../support/free-port.ts"
import { listenLocally } from "../../../support/listen-locally.ts"
import { until } from "../../../support/until.ts"
import { RawPeer } from "./raw-peer.ts"

const ways = ["handled", "in-place"] as const
type Way = (typeof ways)[number]

/** The texts that a socket brings, one at a time. Made before the channel, which unmasks bytes where they lie. */
const textsOf = (socket: Socket): (() => Buffer) => {
  const seen = new RawPeer(socket, false)
  // Its listener would let the bytes flow before the channel listens.
  socket.pause()
  return () => {
    const parts: Array<Buffer> = []
    for (let frame = seen.frames.shift(); frame !== undefined; frame = seen.frames.shift()) {
      const belongs = frame.opcode === opcode.text || (frame.opcode === opcode.continuation && parts.length > 0)
      if (belongs) parts.push(frame.payload)
      if (belongs && frame.fin) break
    }
    return Buffer.concat(parts)
  }
}

const echo = (channel: FrameChannel, way: Way, text: () => Buffer, ended: () => void): void => {
  if (!(channel instanceof WebSocketChannel)) throw new Error("the channel is no WebSocket's")
  const passage = { to: channel, idAt: 0, idLength: 0, id: undefined }
  channel.open({
    message: channel.send,
    ignored: () => channel.outlet.control(opcode.text, text()),
    drained: () => {},
    ended,
    ...(way === "in-place" ? { judge: () => passage } : {})
  })
}

/** A server that echoes. Gives its port. */
const startServer = (way: Way): Promise<number> => {
  const webSockets = makeWebSocketAcceptor()
  const server = http.createServer()
  server.on("upgrade", (request, socket, head) => {
    if (!(socket instanceof net.Socket)) return socket.destroy()
    socket.on("error", () => socket.destroy())
    const text = textsOf(socket)
    webSockets.accept({ request, socket, head }, undefined, (channel) => echo(channel, way, text, () => {}))
  })
  return listenLocally(server)
}

/** Connects as a client and echoes until the end. */
const runClient = (url: string, way: Way): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false })
    socket.on("error", reject)
    socket.once("upgrade", ({ socket: raw }) => {
      const text = textsOf(raw)
      const removeLater = noteListeners(raw)
      socket.once("open", () => {
        removeLater()
        raw.once("close", () => resolve())
        echo(new WebSocketChannel(raw, { isServer: false }), way, text, () => {})
      })
    })
  })

/** The number of cases, as soon as the suite's server tells it. */
const countAt = async (url: string): Promise<number | undefined> => {
  const socket = new WebSocket(url)
  try {
    const [data] = (await once(socket, "message")) as [Buffer]
    return Number(data.toString("utf8"))
  } catch {
    return undefined
  }
}

type Results = Readonly<
  Record<string, Readonly<Record<string, { readonly behavior: string; readonly behaviorClose: string }>>>
>

/** Prints how many cases ended in which way, and each that did not end well. Gives how many these are. */
const judge = (side: string, folder: string): number => {
  const results = JSON.parse(readFileSync(join(folder, "index.json"), "utf8")) as Results
  let bad = 0
  for (const [agent, cases] of Object.entries(results)) {
    const counts = new Map<string, number>()
    for (const [id, { behavior, behaviorClose }] of Object.entries(cases)) {
      const outcome = behavior === behaviorClose ? behavior : `${behavior}, close ${behaviorClose}`
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
      const isGood = /^(?:OK|INFORMATIONAL)$/u
      if (isGood.test(behavior) && isGood.test(behaviorClose)) continue
      bad++
      console.log(`  ${side}, ${agent}, ${id}: ${outcome}`)
    }
    console.log(`${side}, ${agent}: ${[...counts].map(([outcome, count]) => `${count} ${outcome}`).join("; ")}`)
  }
  return bad
}

const cases = { cases: ["*"], "exclude-cases": ["12.*", "13.*"], "exclude-agent-cases": {} }

const suite = (command: ReadonlyArray<string>, folder: string, mode: string, spec: object) => {
  const file = join(folder, `${mode}.json`)
  writeFileSync(file, JSON.stringify({ ...spec, ...cases, outdir: join(folder, mode) }))
  const [program = "", ...args] = command
  return spawn(program, [...args, "-m", mode, "-s", file, "-u", "0"], {
    stdio: ["ignore", "ignore", "inherit"],
    cwd: folder
  })
}

const main = async (command: ReadonlyArray<string>): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), "braid-autobahn-"))
  try {
    const servers = await Promise.all(
      ways.map(async (way) => ({ agent: way, url: `ws://127.0.0.1:${await startServer(way)}` }))
    )
    await once(suite(command, folder, "fuzzingclient", { servers }), "exit")
    let bad = judge("server", join(folder, "fuzzingclient"))

    const url = `ws://127.0.0.1:${await freePort()}`
    const server = suite(command, folder, "fuzzingserver", { url })
    try {
      const count = await until("the suite's server", () => countAt(`${url}/getCaseCount`))
      for (const way of ways) {
        for (let number = 1; number <= count; number++)
          await runClient(`${url}/runCase?case=${number}&agent=${way}`, way)
        await runClient(`${url}/updateReports?agent=${way}`, way)
      }
    } finally {
      server.kill()
    }
    bad += judge("client", join(folder, "fuzzingserver"))
    return bad === 0 ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

process.exit(await main(process.argv.slice(2)))

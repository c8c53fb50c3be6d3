/**
 * Connections to agents over TCP: dials them and cuts their stream into frames. `pod-agents.ts` decides which agents
 * there are.
 */

import net, { type Socket } from "node:net"
import { Effect } from "effect"
import { DaemonMessage, daemonMessage } from "../../domain/protocol/daemon-message.ts"
import { FrameCutter } from "../../domain/protocol/frame-cutter.ts"
import { AgentUnreachable } from "../../ports/agents.ts"
import type { FrameChannel, FrameHandlers } from "../../ports/frame-channel.ts"

/** How long an agent may take to finish closing before its connection is cut, in ms. */
const closeGrace = 5_000
/** How long an agent may take to accept a connection, in ms. */
const dialTimeout = 10_000

/** A {@link FrameChannel} over an agent's raw TCP stream, which has no message boundaries (wire.md §1.3). */
const streamChannel = (socket: Socket): FrameChannel => {
  const cutter = new FrameCutter(daemonMessage, DaemonMessage)
  let handlers: FrameHandlers | undefined
  /** The reason of an end before the channel was opened. */
  let endedEarly: string | undefined
  let over = false
  let corked = false

  const end = (reason: string): void => {
    if (over) return
    over = true
    socket.destroy()
    if (handlers === undefined) endedEarly = reason
    else handlers.ended(reason)
  }
  socket.on("data", (chunk: Buffer) => {
    if (over) return
    const { error, frames } = cutter.feed(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length))
    for (const frame of frames) {
      handlers?.message(frame)
      if (over) return
    }
    if (error !== undefined) end(`${error.path}: ${error.message}`)
  })
  socket.on("end", () =>
    end(cutter.pending > 0 ? "the agent's stream broke off inside a message" : "the agent closed the connection")
  )
  socket.on("error", (error) => end(error.message))
  socket.on("close", () => end("the connection to the agent is gone"))
  socket.on("drain", () => {
    if (!over) handlers?.drained()
  })

  return {
    send: (bytes) => {
      if (over) return
      if (!corked) {
        corked = true
        socket.cork()
        process.nextTick(() => {
          corked = false
          socket.uncork()
        })
      }
      socket.write(bytes)
    },
    queuedBytes: () => socket.writableLength,
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: () => {
      if (over) return
      over = true
      handlers = undefined
      // Unread input would hide the agent's end, so it is read on. An agent that does not close its side in turn is cut
      // off.
      socket.resume()
      socket.end()
      const timer = setTimeout(() => socket.destroy(), closeGrace)
      socket.once("close", () => clearTimeout(timer))
      timer.unref()
    },
    open: (given) => {
      if (endedEarly !== undefined) return given.ended(endedEarly)
      handlers = given
      socket.resume()
    }
  }
}

/**
 * Dials an agent. The connection is the agent's client from its first moment: an agent whose only client leaves exits,
 * so never dial one to see whether it is there (agent.md §3.5).
 */
export const dialAgent = (
  host: string,
  port: number,
  timeout = dialTimeout
): Effect.Effect<FrameChannel, AgentUnreachable> =>
  Effect.callback<FrameChannel, AgentUnreachable>((resume) => {
    const socket = net.connect({ host, port, noDelay: true })
    socket.pause()
    const fail = (reason: string): void => {
      socket.destroy()
      resume(Effect.fail(new AgentUnreachable({ agent: `${host}:${port}`, detail: reason })))
    }
    const onError = (error: Error): void => fail(error.message)
    socket.once("error", onError)
    socket.setTimeout(timeout, () => fail(`no connection within ${timeout} ms`))
    socket.once("connect", () => {
      socket.setTimeout(0)
      socket.off("error", onError)
      resume(Effect.succeed(streamChannel(socket)))
    })
    return Effect.sync(() => socket.destroy())
  })

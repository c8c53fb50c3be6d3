import { once } from "node:events"
import { Deferred, Effect } from "effect"
import { describe, expect, it } from "vitest"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import { collectGarbage } from "../../support/collect-garbage.ts"
import { turns } from "../../support/turns.ts"
import { connectText, makeCertificates, runApi, textOf } from "./running-api.ts"

it("a connection that was upgraded does not keep the headers of its request", async () => {
  const certificates = await makeCertificates()
  const api = await runApi(certificates, {}, { connect: () => Effect.succeed({ serve: () => Effect.never }) })
  const connect = async (headers: Readonly<Record<string, string>>) => {
    const socket = await api.dial(certificates.proxy)
    socket.write(connectText(headers))
    const [answer] = (await once(socket, "data")) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 101/)
  }
  const used = async (): Promise<number> => {
    await turns(2)
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  try {
    await connect({})
    const before = await used()
    const [connections, size] = [20, 500_000]
    for (let i = 0; i < connections; i++) await connect({ "x-filler": `${i}`.padEnd(size, "x") })
    expect((await used()) - before).toBeLessThan((connections * size) / 4)
  } finally {
    await api.stop()
  }
})

describe("bytes that come before the answer", () => {
  /** A client whose connect is held until `answer`. `served` has what comes behind the answer. */
  const heldConnect = async () => {
    const certificates = await makeCertificates()
    const [begun, answer, left, served] = [
      Deferred.makeUnsafe<void>(),
      Deferred.makeUnsafe<void>(),
      Deferred.makeUnsafe<void>(),
      Deferred.makeUnsafe<string>()
    ]
    const serve = (channel: FrameChannel) =>
      Effect.callback<void>((resume) => {
        const message = (bytes: Uint8Array): void => {
          Deferred.doneUnsafe(served, Effect.succeed(Buffer.from(bytes).toString()))
        }
        channel.open({ message, ended: () => resume(Effect.void), drained: () => {}, ignored: () => {} })
      })
    const connect = () =>
      Deferred.succeed(begun, undefined).pipe(
        Effect.andThen(Deferred.await(answer)),
        Effect.as({ serve }),
        Effect.onInterrupt(() => Deferred.succeed(left, undefined))
      )
    const api = await runApi(certificates, {}, { connect })
    const socket = await api.dial(certificates.proxy)
    socket.write(connectText())
    await Effect.runPromise(Deferred.await(begun))
    return { socket, stop: api.stop, left: Deferred.await(left), served: Deferred.await(served), answer }
  }
  /** A binary message, masked with nothing. */
  const frame = (text: string): Buffer =>
    Buffer.concat([Buffer.from([0x82, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])

  it("are the first of the connection", async () => {
    const { answer, served, socket, stop } = await heldConnect()
    const message = frame("before the answer")
    socket.write(message.subarray(0, 7))
    await turns()
    socket.write(message.subarray(7))
    await turns()
    Effect.runSync(Deferred.succeed(answer, undefined))
    expect(await Effect.runPromise(served)).toBe("before the answer")
    await stop()
  })

  it("do not hide that the client has left", async () => {
    const { left, socket, stop } = await heldConnect()
    socket.end("early")
    await Effect.runPromise(left)
    await stop()
  })

  it("are refused beyond 16 KiB", async () => {
    const { left, socket, stop } = await heldConnect()
    socket.write(Buffer.alloc(20_000))
    expect(await textOf(socket)).toMatch(
      /^HTTP\/1\.1 400 [^]*The client sent more than 16384 bytes behind its request/u
    )
    await Effect.runPromise(left)
    await stop()
  })
})

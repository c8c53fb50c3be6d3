/**
 * Waits for the body of a request that filters look at, within limits (agent.md §6.6). The filters are in
 * `body-filter.ts`.
 */

import type { IncomingMessage } from "node:http"
import { PassThrough, type Readable } from "node:stream"
import type { After } from "../agent-output.ts"

/** How much of a body filters get to see, as the real agent limits it. */
export interface BodyLimits {
  /** Bodies of this many bytes, or more, are not looked at. */
  readonly maxBytes: number
  /** Bodies that take longer are not looked at, ms. */
  readonly timeoutMs: number
}

/**
 * Collects a body beside its other readers. `done` is called once, with the whole body, or without it if it is too
 * large or too slow; never if the peer breaks off.
 */
export const collectBody = (
  message: IncomingMessage,
  { maxBytes, timeoutMs }: BodyLimits,
  after: After,
  done: (body: Uint8Array | undefined) => void
): void => {
  const pieces: Array<Uint8Array> = []
  let size = 0
  const finish = (body: Uint8Array | undefined): void => {
    stop()
    done(body)
  }
  const onData = (piece: Uint8Array): void => {
    pieces.push(piece)
    size += piece.length
    if (size >= maxBytes) finish(undefined)
  }
  const onEnd = (): void => finish(Buffer.concat(pieces))
  const stopClock = after(timeoutMs, () => finish(undefined))
  const stop = (): void => {
    stopClock()
    message.off("data", onData)
    message.off("end", onEnd)
    message.off("close", stop)
  }
  message.on("data", onData)
  message.once("end", onEnd)
  message.once("close", stop)
  if (Number(message.headers["content-length"] ?? 0) > maxBytes) finish(undefined)
}

/** The body of a message for a reader that comes later. It holds `maxBytes` before the peer is no longer read. */
export const keptBody = (message: IncomingMessage, maxBytes: number): Readable =>
  message.pipe(new PassThrough({ highWaterMark: Math.max(1, maxBytes) }))

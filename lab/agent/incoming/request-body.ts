/**
 * Waits for the body of a request that filters look at, within limits (agent.md §6.6). The filters are in
 * `body-filter.ts`.
 */

import { PassThrough, type Readable } from "node:stream"
import type { After } from "../agent-output.ts"
import type { HttpMessage } from "./http-message.ts"

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
  { body: stream, complete, contentLength }: HttpMessage,
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
  const onEnd = (): void => (complete() ? finish(Buffer.concat(pieces)) : stop())
  const stopClock = after(timeoutMs, () => finish(undefined))
  const stop = (): void => {
    stopClock()
    stream.off("data", onData)
    stream.off("end", onEnd)
    stream.off("close", stop)
  }
  stream.on("data", onData)
  stream.once("end", onEnd)
  stream.once("close", stop)
  if (contentLength > maxBytes) finish(undefined)
}

/** The body of a message for a reader that comes later. It holds `maxBytes` before the peer is no longer read. */
export const keptBody = ({ body }: HttpMessage, maxBytes: number): Readable =>
  body.pipe(new PassThrough({ highWaterMark: Math.max(1, maxBytes) }))

/**
 * The way back to the peer that made a request of a redirected connection. Which answer it is, is decided in
 * `http-traffic.ts`.
 */

import type { Duplex, Writable } from "node:stream"
import type { BodyFrame } from "../../../src/domain/protocol/http-messages.ts"
import type { Headers } from "../../../src/domain/protocol/shape.ts"
import type { HttpMessage } from "./http-message.ts"

/**
 * Answers of a port with subscriptions must not be cached, because they change when the session ends (agent.md §6.7).
 */
const cacheControl = ["cache-control", "no-cache, no-store, must-revalidate"] as const

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

export type HeaderPairs = ReadonlyArray<readonly [name: string, value: string]>

/** The headers of an answer. Framing is left to Node, which knows what the peer understands. */
export const answerHeaders = (headers: HeaderPairs): HeaderPairs => [
  ...headers.filter(([name]) => !["transfer-encoding", "cache-control"].includes(name.toLowerCase())),
  cacheControl
]

/** The headers of an answer of the agent itself. */
export const failureHeaders = (text: string): HeaderPairs => [["content-length", String(Buffer.byteLength(text))]]

export const pairs = (raw: ReadonlyArray<string>): HeaderPairs =>
  Array.from({ length: Math.floor(raw.length / 2) }, (_, i) => [raw[2 * i] ?? "", raw[2 * i + 1] ?? ""] as const)

/** Raw headers of Node in the form in which messages carry them. */
export const headerList = (raw: ReadonlyArray<string>): Headers =>
  pairs(raw).map(([name, value]) => [name.toLowerCase(), Buffer.from(value, "latin1")] as const)

export const textPairs = (headers: Headers): HeaderPairs =>
  headers.map(([name, value]) => [name, latin1(value)] as const)

/** The raw connection under a request that asked for an upgrade. */
export interface Upgradable {
  readonly socket: Duplex
  /** Bytes that the peer sent after the request. */
  readonly head: Uint8Array
}

/** A request of a peer together with the way back to it. */
export interface ServedRequest {
  readonly message: HttpMessage
  readonly answer: HttpAnswer
}

/** The way back to the peer that made a request. */
export interface HttpAnswer {
  /** Undefined unless the request asks for an upgrade. */
  readonly upgradable: Upgradable | undefined
  readonly started: boolean
  /** The writable side, for pipes. */
  readonly stream: Writable
  /** Calls back once when the answer is over: written completely, or the peer is gone. It may be over already. */
  onClose(run: (complete: boolean) => void): void
  /** @param complete the whole body if it is known already */
  start(status: number, reason: string | undefined, headers: HeaderPairs, complete?: ReadonlyArray<BodyFrame>): void
  trailers(headers: HeaderPairs): void
  end(): void
  /** Answers 502 with the reason, or cuts the answer off if it has begun. */
  fail(reason: string): void
}

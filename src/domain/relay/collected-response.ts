/**
 * Adapts HTTP responses to members that are older than the version agreed with the client: the pieces of a body are
 * collected until it is complete, and sent as one response (wire.md §5.7, §8.19). Below 1.3.0 trailers are lost, as
 * with every agent of that age.
 *
 * Not here: which member gets a response (traffic.ts).
 */

import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { ClientMessage } from "../protocol/client-message.ts"
import type { BodyFrame, ChunkedResponse, HttpResponse, HttpResponseFramed } from "../protocol/http-messages.ts"
import { atLeast, gate } from "../protocol/version.ts"
import { limits } from "./limits.ts"

type OpenPieces = { readonly before: Pieces; readonly frames: ReadonlyArray<BodyFrame> }
type Pieces = OpenPieces | undefined
type BodyChunk = Extract<ChunkedResponse, { readonly _tag: "Body" }>["value"]
type Collected =
  | { readonly _tag: "Open"; readonly head: HttpResponseFramed; readonly pieces: Pieces; readonly cost: number }
  /** The requester was answered with 502; further pieces are thrown away. */
  | { readonly _tag: "GivenUp" }

/** By client-facing id and request id; entries end with the response or with the id. */
export interface CollectedResponses {
  readonly bytes: number
  readonly byId: HashMap.HashMap<bigint, ReadonlyMap<number, Collected>>
}

export const nothingCollected: CollectedResponses = { bytes: 0, byId: HashMap.empty() }

/** The steal variants that are responses. */
export type ResponseMessage =
  | { readonly _tag: "HttpResponse"; readonly value: HttpResponse }
  | { readonly _tag: "HttpResponseFramed"; readonly value: HttpResponseFramed }
  | { readonly _tag: "HttpResponseChunked"; readonly value: ChunkedResponse }

/** The response to a stolen request in a message; `undefined` if there is none. */
export const responseOf = (message: ClientMessage): ResponseMessage | undefined => {
  if (message._tag !== "TcpSteal") return undefined
  const { value } = message
  return value._tag === "HttpResponse" || value._tag === "HttpResponseFramed" || value._tag === "HttpResponseChunked"
    ? value
    : undefined
}

export type Adapted =
  | { readonly _tag: "Send"; readonly message: ResponseMessage }
  | { readonly _tag: "Wait" }
  /** Too much was collected: the sender of the stolen request gets this error in place of the response. */
  | { readonly _tag: "GiveUp"; readonly message: ResponseMessage }

const costOf = (frames: ReadonlyArray<BodyFrame>): number =>
  frames.reduce(
    (total, frame) =>
      total +
      (frame._tag === "Data"
        ? frame.value.length
        : frame.value.reduce((sum, [name, value]) => sum + name.length + value.length, 0)),
    limits.collectedPieceCost * (frames.length + 1)
  )

const inOrder = (pieces: Pieces): ReadonlyArray<BodyFrame> => {
  const parts: Array<ReadonlyArray<BodyFrame>> = []
  for (let piece = pieces; piece !== undefined; piece = piece.before) parts.push(piece.frames)
  return parts.reverse().flat()
}

const joined = (frames: ReadonlyArray<BodyFrame>): Uint8Array => {
  const parts = frames.flatMap((frame) => (frame._tag === "Data" ? [frame.value] : []))
  const body = new Uint8Array(parts.reduce((total, part) => total + part.length, 0))
  let at = 0
  for (const part of parts) {
    body.set(part, at)
    at += part.length
  }
  return body
}

const whole = (response: HttpResponseFramed, memberVersion: string): ResponseMessage => {
  if (atLeast(memberVersion, gate.httpFramed)) return { _tag: "HttpResponseFramed", value: response }
  const { internalResponse } = response
  return {
    _tag: "HttpResponse",
    value: { ...response, internalResponse: { ...internalResponse, body: joined(internalResponse.body) } }
  }
}

/** A 502 in the form that every agent reads. Agents do not use the port (wire.md §3.5). */
const badGateway = (connectionId: bigint, requestId: number, why: string): ResponseMessage => ({
  _tag: "HttpResponse",
  value: {
    port: 0,
    connectionId,
    requestId,
    internalResponse: {
      status: 502,
      version: "HTTP/1.1",
      headers: [["content-type", new TextEncoder().encode("text/plain")]],
      body: new TextEncoder().encode(why)
    }
  }
})

const entry = (all: CollectedResponses, id: bigint, requestId: number): Collected | undefined =>
  Option.getOrUndefined(HashMap.get(all.byId, id))?.get(requestId)

const put = (
  all: CollectedResponses,
  id: bigint,
  requestId: number,
  next: Collected | undefined
): CollectedResponses => {
  const before = entry(all, id, requestId)
  const requests = new Map(Option.getOrUndefined(HashMap.get(all.byId, id)))
  if (next === undefined) requests.delete(requestId)
  else requests.set(requestId, next)
  const cost = (collected: Collected | undefined): number => (collected?._tag === "Open" ? collected.cost : 0)
  return {
    bytes: all.bytes - cost(before) + cost(next),
    byId: requests.size === 0 ? HashMap.remove(all.byId, id) : HashMap.set(all.byId, id, requests)
  }
}

/** Forgets all pieces that were collected for an id, which is freed. */
export const forgetCollected = (all: CollectedResponses, id: bigint): CollectedResponses => {
  const requests = Option.getOrUndefined(HashMap.get(all.byId, id))
  return requests === undefined
    ? all
    : requests.keys().reduce((left, request) => put(left, id, request, undefined), all)
}

/** The form in which an older member gets a response message. Ids stay those of the client. */
export const adaptResponse = (all: CollectedResponses, message: ResponseMessage, memberVersion: string): Step => {
  if (message._tag === "HttpResponse") return [all, { _tag: "Send", message }]
  if (message._tag === "HttpResponseFramed")
    return [all, { _tag: "Send", message: whole(message.value, memberVersion) }]
  const chunk = message.value
  switch (chunk._tag) {
    case "Start":
      return collect(all, chunk.value, { before: undefined, frames: chunk.value.internalResponse.body }, 0)
    case "Body":
      return collectBody(all, chunk.value, memberVersion)
    case "Error":
      return fail(all, chunk.value)
  }
}

type Step = readonly [CollectedResponses, Adapted]
type ResponseId = { readonly connectionId: bigint; readonly requestId: number }
const wait: Adapted = { _tag: "Wait" }

const collectBody = (
  all: CollectedResponses,
  { connectionId, frames, isLast, requestId }: BodyChunk,
  memberVersion: string
): Step => {
  const known = entry(all, connectionId, requestId)
  if (known === undefined) return [all, wait]
  if (known._tag === "GivenUp") return [isLast ? put(all, connectionId, requestId, undefined) : all, wait]
  const { cost, head } = known
  const pieces: Pieces = { before: known.pieces, frames }
  if (!isLast) return collect(all, head, pieces, cost)
  const response = { ...head, internalResponse: { ...head.internalResponse, body: inOrder(pieces) } }
  return [put(all, connectionId, requestId, undefined), { _tag: "Send", message: whole(response, memberVersion) }]
}

/** Keeps another piece of a response whose earlier pieces cost `before`, if there is room. */
const collect = (all: CollectedResponses, head: HttpResponseFramed, pieces: OpenPieces, before: number): Step => {
  const { connectionId, requestId } = head
  const cost = before + costOf(pieces.frames)
  const next = put(all, connectionId, requestId, { _tag: "Open", head, pieces, cost })
  if (next.bytes <= limits.collectedBytes) return [next, wait]
  return [
    put(all, connectionId, requestId, { _tag: "GivenUp" }),
    {
      _tag: "GiveUp",
      message: badGateway(connectionId, requestId, "the response is too large for an agent of this version")
    }
  ]
}

/**
 * The local process broke off its response: the requester gets a 502, unless it was answered when the response was
 * given up.
 */
const fail = (all: CollectedResponses, { connectionId, requestId }: ResponseId): Step => {
  const answered = entry(all, connectionId, requestId)?._tag === "GivenUp"
  const message = badGateway(connectionId, requestId, "the local process did not complete its response")
  return [put(all, connectionId, requestId, undefined), answered ? wait : { _tag: "Send", message }]
}

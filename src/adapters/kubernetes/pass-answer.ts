/**
 * Passes an API server's answer on as it is: what both ends of a lane do with the answer of the next hop.
 *
 * Not here: the requests (carry-request.ts, serve-lanes.ts), and which headers pass
 * (domain/outbound/passed-headers.ts).
 */

import type { IncomingMessage, ServerResponse } from "node:http"
import { type Duplex, pipeline } from "node:stream"
import { pairsOf, passedBack, type RawHeaders } from "../../domain/outbound/passed-headers.ts"
import { joinStreams } from "../stream/join-streams.ts"

const ignored = (): void => undefined

/** Counts the bytes that pass. */
export type CountBytes = (chunk: Buffer) => void

/** The words beside a status; `undefined` if they hold what only Node's parser takes, and its server does not write. */
const wordsOf = ({ statusMessage = "" }: IncomingMessage): string | undefined =>
  /[^\t\u0020-\u007e\u0080-\u00ff]/u.test(statusMessage) ? undefined : statusMessage

/**
 * Why an answer cannot be passed on, a clause; `undefined` if it can. Node's parser takes statuses of any three digits,
 * of which its server refuses some by an exception.
 */
export const answerProblem = ({ statusCode = 0 }: IncomingMessage): string | undefined =>
  statusCode >= 200 && statusCode < 600 ? undefined : `its answer has the status ${statusCode}, which HTTP has not`

/** Answers a request that stays HTTP, by an answer without a problem. */
export const passAnswer = (answer: IncomingMessage, response: ServerResponse, count: CountBytes): void => {
  response.sendDate = false
  response.writeHead(answer.statusCode ?? 502, wordsOf(answer), passedBack(answer.rawHeaders))
  // A watch may begin long before its first event.
  response.flushHeaders()
  answer.on("data", count).once("end", () => response.addTrailers(pairsOf(answer.rawTrailers)))
  pipeline(answer, response, ignored)
}

/** The head of an answer, on a connection that the server of HTTP has handed over. */
const writeHead = (client: Duplex, answer: IncomingMessage, headers: RawHeaders): void => {
  const lines = pairsOf(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  client.write(`HTTP/1.1 ${answer.statusCode} ${wordsOf(answer) ?? ""}\r\n${lines.join("")}\r\n`, "latin1")
}

/** Answers a request for an upgrade that was not granted. */
export const passRefusal = (answer: IncomingMessage, client: Duplex, count: CountBytes): void => {
  writeHead(client, answer, [...passedBack(answer.rawHeaders), "connection", "close"])
  pipeline(answer.on("data", count), client, ignored)
}

/** A connection that has been upgraded, and the bytes behind the answer. */
export interface Upgraded {
  readonly answer: IncomingMessage
  readonly socket: Duplex
  readonly first: Buffer
}

/**
 * Grants an upgrade, and carries bytes both ways until both sides have ended. `early`: bytes that came from the client
 * before the answer.
 */
export const passUpgrade = (
  { answer, first, socket }: Upgraded,
  client: Duplex,
  early: Buffer,
  count: CountBytes
): void => {
  socket.on("error", ignored)
  writeHead(client, answer, answer.rawHeaders)
  if (first.length > 0) client.write(first)
  if (early.length > 0) socket.write(early)
  for (const chunk of [first, early]) count(chunk)
  joinStreams(client.on("data", count), socket.on("data", count))
}

/**
 * The cell's end of a person's request: sends it on a lane, and brings the answer of the member back as it is. Bytes
 * pass unread, those of upgrades too.
 *
 * Not here: whether the person may (app/operator/admit-person.ts), and the other end (serve-lanes.ts).
 */

import { type ClientRequest, type IncomingMessage, request as sendRequest, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { pairsOf, passedOn, type RawHeaders } from "../../domain/outbound/passed-headers.ts"
import type { PeopleOutcome } from "../../domain/outbound/people-audit.ts"
import { memberHeader, type Person, personHeader, requestIdHeader, writePerson } from "../../domain/outbound/person.ts"
import type { ProxiedRequest } from "../../domain/outbound/proxied-request.ts"
import { answerProblem, passAnswer, passRefusal, passUpgrade, type Upgraded } from "./pass-answer.ts"

/** A request of a person, as it goes on a lane. */
export interface CarriedRequest extends Pick<ProxiedRequest, "cluster" | "target"> {
  readonly id: string
  readonly person: Person
  readonly lane: Duplex
}

const ignored = (): void => undefined

const withoutId = (raw: RawHeaders): RawHeaders =>
  pairsOf(raw).flatMap(([name, value]) => (name.toLowerCase() === requestIdHeader ? [] : [name, value]))

/** Begins the request on its lane; its body is still to be sent. */
const begin = ({ cluster, id, lane, person, target }: CarriedRequest, from: IncomingMessage): ClientRequest => {
  const { "transfer-encoding": transfer, upgrade } = from.headers
  return sendRequest({
    createConnection: () => lane,
    method: from.method,
    path: target,
    headers: [
      ...["host", "member"],
      ...withoutId(passedOn(from.rawHeaders)),
      ...(transfer === undefined ? [] : ["transfer-encoding", "chunked"]),
      ...(upgrade === undefined ? ["connection", "close"] : ["connection", "Upgrade", "upgrade", upgrade]),
      ...[requestIdHeader, id, personHeader, writePerson(person), memberHeader, encodeURIComponent(cluster)]
    ]
  })
}

/** Carries a request whose body streams both ways. Ends with the answer, or when the person leaves. */
export const carryRequest = (
  carried: CarriedRequest,
  request: IncomingMessage,
  response: ServerResponse
): Effect.Effect<PeopleOutcome, string> =>
  Effect.callback<PeopleOutcome, string>((resume) => {
    let bytes = 0
    const count = (chunk: Buffer): void => void (bytes += chunk.length)
    const sent = begin(carried, request)
    const over = (why?: string): void =>
      resume(Effect.succeed({ code: response.headersSent ? response.statusCode : undefined, bytes, why }))
    sent.on("error", ({ message }) => {
      if (response.headersSent || response.destroyed) response.destroy()
      else resume(Effect.fail(message))
    })
    sent.once("response", (answer) => {
      const problem = answerProblem(answer)
      if (problem === undefined) return passAnswer(answer, response, count)
      sent.destroy()
      resume(Effect.fail(problem))
    })
    response.on("error", ignored).once("close", () => {
      sent.destroy()
      over(response.writableFinished ? undefined : "the request was broken off")
    })
    request
      .on("error", ignored)
      .on("data", count)
      .once("end", () => sent.addTrailers(pairsOf(request.rawTrailers)))
      .pipe(sent)
    return Effect.sync(() => {
      sent.destroy()
      response.destroy()
    })
  })

/** The member's answer to an upgrade; `socket` is `undefined` if it does not grant it. */
export type UpgradeAnswer = Upgraded | { readonly answer: IncomingMessage; readonly socket: undefined }

/** Asks the member for an upgrade. The lane ends if the caller is interrupted before the answer. */
export const askUpgrade = (carried: CarriedRequest, request: IncomingMessage): Effect.Effect<UpgradeAnswer, string> =>
  Effect.callback<UpgradeAnswer, string>((resume) => {
    const sent = begin(carried, request)
    sent.on("error", ({ message }) => resume(Effect.fail(message)))
    sent.once("upgrade", (answer, socket, first) => {
      socket.on("error", ignored)
      resume(Effect.succeed({ answer, socket, first }))
    })
    sent.once("response", (answer) => {
      const problem = answerProblem(answer)
      if (problem === undefined) return resume(Effect.succeed({ answer: answer.pause(), socket: undefined }))
      sent.destroy()
      resume(Effect.fail(problem))
    })
    sent.end()
    return Effect.sync(() => carried.lane.destroy())
  })

/**
 * Gives a person's connection the member's answer, whatever it is, and carries bytes both ways until both sides have
 * ended. `early`: bytes that came from the person before the answer.
 */
export const joinUpgrade = (answered: UpgradeAnswer, client: Duplex, early: Buffer): Effect.Effect<PeopleOutcome> =>
  Effect.callback<PeopleOutcome>((resume) => {
    let bytes = 0
    const count = (chunk: Buffer): void => void (bytes += chunk.length)
    // Each side may finish first.
    client.allowHalfOpen = true
    client.on("error", ignored).once("close", () => resume(Effect.succeed({ code: answered.answer.statusCode, bytes })))
    if (answered.socket === undefined) passRefusal(answered.answer, client.resume(), count)
    else passUpgrade(answered, client, early, count)
    return Effect.sync(() => client.destroy())
  })

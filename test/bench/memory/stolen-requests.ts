/**
 * Requests to the workload that sessions steal. Each is mirrored to the other sessions, so that all have connections
 * that come in.
 */

import * as http from "node:http"
import { setTimeout as pause } from "node:timers/promises"
import type { RawSession } from "../../../lab/client/raw-session.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"

/** Time between two requests, ms. */
const requestEvery = 1_000

/** Path of requests that are not answered. */
const unanswered = "/unanswered"

/** A stolen request, if the message begins one. */
const stolenIn = (message: DaemonMessage) =>
  message._tag === "TcpSteal" && message.value._tag === "HttpRequestChunked" && message.value.value._tag === "StartV2"
    ? message.value.value.value
    : undefined

/** Steals the requests of a user, and answers with the user's name, until the session ends. */
export const stealRequests = async (session: RawSession, user: string): Promise<void> => {
  const body = [{ _tag: "Data", value: new Uint8Array(Buffer.from(user)) }] as const
  const internalResponse = { status: 200, version: "HTTP/1.1", headers: [], body } as const
  const ended = session.hear((message): undefined => {
    const stolen = stolenIn(message)
    if (stolen === undefined || stolen.request.uri.endsWith(unanswered)) return
    const { connectionId, requestId } = stolen
    session.say({
      _tag: "TcpSteal",
      value: { _tag: "HttpResponseFramed", value: { connectionId, requestId, port: 80, internalResponse } }
    })
  })
  ended.catch(() => {})
  const subscribed = session.hear((message) =>
    message._tag === "TcpSteal" && message.value._tag === "SubscribeResult" ? message.value.value : undefined
  )
  const filter = { _tag: "Header", value: `^x-user: ${user}$` } as const
  session.say({
    _tag: "TcpSteal",
    value: { _tag: "PortSubscribe", value: { _tag: "FilteredHttpEx", port: 80, filter } }
  })
  const result = await subscribed
  if (result._tag === "Err") throw new Error(`sessions: port 80 cannot be stolen: ${result.error._tag}`)
}

const ask = (url: string, agent: http.Agent, user: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = http.get(url, { agent, headers: { "x-user": user } }, (response) => {
      let body = ""
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text
      })
      response.once("end", () => resolve(body)).once("error", reject)
    })
    request.once("error", reject)
  })

/**
 * Asks the workload of each cluster in turn for each user in turn, over connections that are kept. Fails if another
 * than the user's session answers. `until`: as `performance.now`.
 */
export const visit = async (
  entries: ReadonlyArray<string>,
  users: ReadonlyArray<string>,
  until: number
): Promise<void> => {
  const agent = new http.Agent({ keepAlive: true })
  for (let turn = 0; performance.now() < until; turn++) {
    const entry = entries[turn % entries.length] ?? ""
    const user = users[turn % users.length] ?? ""
    const answer = await ask(entry, agent, user)
    if (answer !== user) throw new Error(`sessions: a request for ${user} was answered ${JSON.stringify(answer)}`)
    await pause(requestEvery)
  }
  agent.destroy()
}

/** Sends a request to each cluster that the user's session does not answer; completes when the session has them all. */
export const leaveUnanswered = async (
  entries: ReadonlyArray<string>,
  session: RawSession,
  user: string
): Promise<void> => {
  let missing = entries.length
  const all = session.hear((message) =>
    stolenIn(message)?.request.uri.endsWith(unanswered) === true && --missing === 0 ? true : undefined
  )
  // They fail at the end of the session.
  for (const entry of entries) ask(`${entry}${unanswered}`, new http.Agent(), user).catch(() => {})
  await all
}

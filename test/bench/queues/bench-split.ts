/** The split of one queue that the benchmarks measure: a session that wants the messages of one user. */

import { Effect, Result } from "effect"
import { type Forwarder, makeForwarder } from "../../../src/app/queues/forwarder.ts"
import { readMessageFilter } from "../../../src/domain/queues/message-filter.ts"
import { MessageQueues } from "../../../src/ports/message-queues.ts"

/** Of so many messages one is the session's. */
export const oneOf = 10

const destination = (url: string, sessionKey?: string) => ({
  url,
  isFifo: false,
  maximumMessageSize: 262_144,
  sessionKey
})

/** The attributes of a message. `index`: its place among all. */
export const attributes = (index: number) => ({
  user: { DataType: "String", StringValue: index % oneOf === 0 ? "ann" : `user-${index}` },
  count: { DataType: "Number", StringValue: String(index) }
})

/** URLs of queues, by what they are for. */
export interface Queues {
  readonly original: string
  readonly main: string
  readonly session: string
}

/** New queues on a server. `beside`: URL of any queue there. */
export const makeQueues = Effect.fnUntraced(function* (beside: string, name: string) {
  const queues = yield* MessageQueues
  const make = (role: string) => queues.create({ name: `${name}-${role}`, beside, attributes: {}, tags: {} })
  const made: Queues = { original: yield* make("original"), main: yield* make("main"), session: yield* make("session") }
  return made
})

/** A forwarder with a session that wants the messages of one user. */
export const forward = Effect.fnUntraced(function* ({ main, original, session }: Queues) {
  const filter = Result.getOrThrow(readMessageFilter({ attributes: { user: "^ann$" }, program: undefined }))
  const forwarder = yield* makeForwarder({
    source: { url: original, isFifo: false, sns: false, jqLimit: 200 },
    main: destination(main),
    report: (report) => {
      throw new Error(JSON.stringify(report))
    }
  })
  yield* forwarder.changeSessions([
    { id: 1n, startedAt: 0, mode: "steal", filter, queue: destination(session, "bench") }
  ])
  return forwarder
})

/** Messages that a forwarder has sent. */
export const forwardedBy = (forwarder: Forwarder): number =>
  forwarder.counts().forwardedToMain + forwarder.counts().sessions.reduce((sum, { forwarded }) => sum + forwarded, 0)

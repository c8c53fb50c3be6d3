/**
 * A filter: one layer between a client and the router. It hears the messages of certain rows on their way to the router
 * and back, and decides about each: it goes on, goes on with a change, is answered here, or ends the connection.
 *
 * Not here: the filters and their order (app/relay/message-filters.ts), and carrying a decision out
 * (app/relay/message-path.ts).
 */

import type { ClientRowKey, DaemonRowKey } from "./peek.ts"

/** The message goes on as it came. */
export interface Pass {
  readonly _tag: "Pass"
}
export const pass: Pass = { _tag: "Pass" }

/** The decision about a message of the client. */
export type ClientDecision =
  | Pass
  /** These bytes go on in its place; they are a message of the same row. */
  | { readonly _tag: "PassChanged"; readonly bytes: Uint8Array }
  /** It goes no further. `answers` are for the client, now. `warning`: a sentence for the user. */
  | { readonly _tag: "Answered"; readonly answers: ReadonlyArray<Uint8Array>; readonly warning: string | undefined }
  /** The client asks without end and reads nothing: its socket is to be closed. */
  | { readonly _tag: "TooMuch"; readonly reason: string }

/** The decision about a message to the client. */
export type DaemonDecision =
  | Pass
  /** These bytes go on in its place; they are a message of the same row. `warnings`: sentences for the user. */
  | { readonly _tag: "PassChanged"; readonly bytes: Uint8Array; readonly warnings: ReadonlyArray<string> }
  /** It goes on as it came, and behind it these answers to earlier requests. */
  | { readonly _tag: "PassBefore"; readonly answers: ReadonlyArray<Uint8Array> }
  /** The session is over for good, and the client gets a `Close` with the reason instead of the message. */
  | { readonly _tag: "EndSession"; readonly reason: string }

/** One direction of a filter. */
export interface Hearing<Row, Decision> {
  /**
   * The rows whose messages are heard; `undefined` among them stands for messages of an unknown kind. Where `every`
   * message is heard, bulk is heard until the router's way for it is learnt (relay/learnt-routes.ts). No way is learnt
   * for messages of rows that are named here.
   */
  readonly rows: "every" | ReadonlySet<Row | undefined>
  readonly hear: (bytes: Uint8Array, row: Row | undefined) => Decision
}

export interface MessageFilter {
  readonly fromClient?: Hearing<ClientRowKey, ClientDecision>
  readonly toClient?: Hearing<DaemonRowKey, DaemonDecision>
}

/** Whether messages of a row are heard. */
export const hears = <Row>(hearing: Pick<Hearing<Row, unknown>, "rows">, row: Row | undefined): boolean =>
  hearing.rows === "every" || hearing.rows.has(row)

/** Whether a filter must hear each message of a row in a direction, so that none of them may pass unread. */
export const mustHear = <Row>(
  filters: ReadonlyArray<MessageFilter>,
  direction: keyof MessageFilter,
  row: Row | undefined
): boolean => filters.some((filter) => namesRow(filter[direction], row))

const namesRow = (hearing: { readonly rows: "every" | ReadonlySet<unknown> } | undefined, row: unknown): boolean =>
  hearing !== undefined && hearing.rows !== "every" && hearing.rows.has(row)

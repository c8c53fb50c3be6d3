/**
 * The fast path of bulk messages: remembers what `step` has decided about a message with certain tags and a certain
 * connection id. As long as the router's state stays the very same, `step` would decide the same about every further
 * message with these tags and this id, whatever its payload. So the router's table decides about every message, and
 * most messages do not have to be read.
 *
 * Not here: what bulk messages look like (protocol/bulk.ts), and how their bytes travel (ports/frame-channel.ts).
 */

import { type BulkHead, clientBulk, daemonBulk } from "../protocol/bulk.ts"
import { maxMessage } from "../protocol/frame-cutter.ts"
import { peekClient, peekDaemon } from "../protocol/peek.ts"
import type { MemberName } from "./member.ts"
import type { RouterOutput, RouterState } from "./state.ts"
import { type ClientAction, clientTable, type DaemonAction, daemonTable } from "./table.ts"

/** The route of a message that `step` has decided. Ids are as they stand on the wire. */
export interface Route {
  /** The receiver; `undefined` for the client. */
  readonly member: MemberName | undefined
  readonly idAt: number
  readonly idLength: number
  /** The id to write in place of the message's own; `undefined` if it stays. */
  readonly id: Uint8Array | undefined
}

/** The actions of the table that look at no more of a message than its tags and its connection id. */
const clientActions: ReadonlySet<ClientAction> = new Set<ClientAction>(["forward", "toOwner"])
const daemonActions: ReadonlySet<DaemonAction> = new Set<DaemonAction>(["forward", "use"])

/** Whether the row of a client's message reads no more than its tags and its connection id. */
const passesFromClient = (bytes: Uint8Array): boolean => {
  const key = peekClient(bytes)
  return key !== undefined && clientActions.has(clientTable[key].action)
}

/** As `passesFromClient`, of a member's message. */
const passesFromMember = (bytes: Uint8Array): boolean => {
  const key = peekDaemon(bytes)
  return key !== undefined && daemonActions.has(daemonTable[key].action)
}

/** A message whose route is known. */
interface Known<T> {
  /** Tags and id. */
  readonly prefix: Uint8Array
  readonly route: T
}

/** How many routes are remembered. Two routes in one place displace each other; a power of two. */
const places = 64

const placeOf = (bytes: Uint8Array, length: number): number => {
  let hash = 0
  for (let at = 0; at < length; at++) hash = (hash * 31 + (bytes[at] ?? 0)) | 0
  return hash & (places - 1)
}

const startsWith = (bytes: Uint8Array, prefix: Uint8Array): boolean => {
  for (let at = 0; at < prefix.length; at++) if (bytes[at] !== prefix[at]) return false
  return true
}

/** The routes of the messages of one sender. `T` is the user's own form of a route. */
export class LearntRoutes<T> {
  readonly #bulk: BulkHead
  readonly #passes: (bytes: Uint8Array) => boolean
  readonly #known: Array<Known<T> | undefined> = Array.from({ length: places })
  /** The last route that was asked for: bulk comes in rows. */
  #last: Known<T> | undefined
  /** The state in which all of these were learnt. Another state forgets them, so that old states are not kept alive. */
  #state: RouterState | undefined

  /** `from`: the sender of the messages. */
  constructor(from: "client" | "member") {
    this.#bulk = from === "client" ? clientBulk : daemonBulk
    this.#passes = from === "client" ? passesFromClient : passesFromMember
  }

  /**
   * The route of a whole message of `length` bytes, of which `head` has the first `headLength`; `undefined` if `step`
   * must decide. The caller makes sure that `step` has nothing else to do now ({@link restsUntil}).
   */
  routeOf(state: RouterState, head: Uint8Array, length: number): T | undefined {
    if (state !== this.#state || length === 0 || length > maxMessage) return undefined
    const last = this.#last
    if (last !== undefined && startsWith(head, last.prefix)) {
      return this.#bulk.measure(head, 0, Math.min(head.length, length)) === length ? last.route : undefined
    }
    if (this.#bulk.measure(head, 0, Math.min(head.length, length)) !== length) return undefined
    const { prefix } = this.#bulk
    const known = this.#known[placeOf(head, prefix)]
    if (known?.prefix.length !== prefix || !startsWith(head, known.prefix)) return undefined
    this.#last = known
    return known.route
  }

  /**
   * Learns from what `step` has decided about a message: `outputs` in the state `before`, which led to `after`. Nothing
   * is learnt from a decision that says more than where the message goes and under which id.
   */
  learn(
    before: RouterState,
    bytes: Uint8Array,
    [after, outputs]: readonly [RouterState, ReadonlyArray<RouterOutput>],
    toOwn: (route: Route) => T | undefined
  ): void {
    const [output] = outputs
    if (after !== before || output === undefined || outputs.length > 1) return
    if (output._tag !== "ToClient" && output._tag !== "ToMember") return
    if (this.#bulk.measure(bytes, 0, bytes.length) !== bytes.length || !this.#passes(bytes)) return
    const { idAt, idLength, prefix } = this.#bulk
    const member = output._tag === "ToMember" ? output.member : undefined
    const route = toOwn({ member, idAt, idLength, id: output.bytes === bytes ? undefined : this.#idOf(output.bytes) })
    if (route === undefined) return
    if (before !== this.#state) {
      this.#state = before
      this.#known.fill(undefined)
      this.#last = undefined
    }
    this.#known[placeOf(bytes, prefix)] = { prefix: bytes.slice(0, prefix), route }
  }

  #idOf(bytes: Uint8Array): Uint8Array {
    this.#bulk.measure(bytes, 0, bytes.length)
    return bytes.slice(this.#bulk.idAt, this.#bulk.prefix)
  }
}

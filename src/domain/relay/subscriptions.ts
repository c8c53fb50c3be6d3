/**
 * Port subscriptions (wire.md §6.9, §8.4, §8.11, §8.14, §8.19). A PortSubscribe goes to every member that can read it,
 * the client gets one merged result, and members that connect later get the subscription as a replay.
 *
 * Not here: who may steal a port, which is decided before the router sees the message (port-locks.ts), and traffic.ts.
 */

import { quotation, quoted } from "../clean-text.ts"
import type { HttpFilter, StealType } from "../protocol/http-filter-messages.ts"
import { portOfError } from "../protocol/named-port.ts"
import type { ClientMessageAt, DaemonMessageAt } from "../protocol/peek.ts"
import type { BlockedAction, ResponseError } from "../protocol/response-error.ts"
import { atLeast, compareVersions, gate } from "../protocol/version.ts"
import type { ClientFrame, MemberFrame } from "./frame.ts"
import { clientVersion, warnUser } from "./handshake.ts"
import type { Channel } from "./ids.ts"
import { limits } from "./limits.ts"
import type { MemberName } from "./member.ts"
import {
  type ExpectedResult,
  firstTime,
  type LeftOut,
  type Link,
  liveMembers,
  nameOf,
  type RouterState,
  sayToClient,
  sayToMember,
  type Subscription,
  type SubscriptionRequest,
  toMember,
  type Turn,
  drop,
  setLink,
  update,
  updateClient
} from "./state.ts"
import { type ClientActions, type DaemonActions, filterSince } from "./table.ts"
import { readableError } from "./versions.ts"

/**
 * A PortSubscribe leaves two records. Its {@link SubscriptionRequest} lives until the client has the result, and knows
 * which members are waited for and which accepted. Its {@link Subscription} lives until the port is subscribed again,
 * unsubscribed or rejected, and knows which members got it.
 *
 * The first refusal before the result rejects the subscription for all members. A refusal after the result only leaves
 * the refusing member out.
 *
 * Some subscriptions need a version. A member gets these only after its version answer, which is the first thing that
 * it says.
 */

/** Notes the result that a member will owe; `false`: the member cannot be asked. */
type Owe = (member: MemberName, change: (link: Link) => Link) => boolean

const keyOf = (channel: Channel, port: number): string => `${channel} ${port}`

/** The higher of two versions; a missing version is the lowest. */
const later = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && compareVersions(b, a) > 0) ? b : a

/** The least version that can read a filter with all its parts. */
const filterNeeds = (filter: HttpFilter): string | undefined =>
  filter._tag === "Composite"
    ? filter.filters.map(filterNeeds).reduce(later, filterSince.Composite)
    : filterSince[filter._tag]

/** The content of a PortSubscribe, the same for all of its forms. */
interface Wanted {
  readonly channel: Channel
  readonly port: number
  readonly filter: HttpFilter | undefined
}

const wanted = (message: ClientMessageAt<ClientActions["subscribe"]>): Wanted => {
  if (message._tag === "TcpSteal") return wantedSteal(message.value.value)
  const { value } = message
  return value._tag === "PortSubscribe"
    ? { channel: "Tcp", port: value.value, filter: undefined }
    : { channel: "Tcp", port: value.port, filter: value.filter }
}

const wantedSteal = (type: StealType): Wanted => {
  switch (type._tag) {
    case "All":
      return { channel: "TcpSteal", port: type.value, filter: undefined }
    case "FilteredHttp":
      return { channel: "TcpSteal", port: type.port, filter: { _tag: "Header", value: type.filter } }
    case "FilteredHttpEx":
      return { channel: "TcpSteal", port: type.port, filter: type.filter }
  }
}

const patchRequest = (turn: Turn, number: number, patch: Partial<SubscriptionRequest>): void =>
  update(turn, {
    requests: turn.state.requests.map((request) => (request.number === number ? { ...request, ...patch } : request))
  })

const setSubscription = (turn: Turn, subscription: Subscription): void =>
  update(turn, {
    subscriptions: new Map(turn.state.subscriptions).set(keyOf(subscription.channel, subscription.port), subscription)
  })

const forget = (turn: Turn, key: string): void => {
  const subscriptions = new Map(turn.state.subscriptions)
  subscriptions.delete(key)
  update(turn, { subscriptions })
}

const without = (members: ReadonlySet<MemberName>, member: MemberName): ReadonlySet<MemberName> => {
  if (!members.has(member)) return members
  const rest = new Set(members)
  rest.delete(member)
  return rest
}

/** The subscription that a request made; `undefined` once it was replaced, unsubscribed or rejected. */
const active = (state: RouterState, number: number): Subscription | undefined => {
  for (const subscription of state.subscriptions.values()) if (subscription.request === number) return subscription
  return undefined
}

/** Bytes that are kept for replays. */
const replayBytes = (state: RouterState): number =>
  state.subscriptions.values().reduce((total, subscription) => total + subscription.bytes.length, 0)

/** The client's PortSubscribe, in either channel. It replaces the port's former subscription in that channel. */
export const subscribeFromClient = (
  turn: Turn,
  message: ClientMessageAt<ClientActions["subscribe"]>,
  { bytes, row }: ClientFrame,
  owe: Owe
): void => {
  const { channel, port, filter } = wanted(message)
  const number = turn.state.nextRequest
  const key = keyOf(channel, port)
  const request: SubscriptionRequest = {
    number,
    key,
    channel,
    port,
    waiting: new Set(liveMembers(turn.state)),
    accepted: new Set(),
    boundFrom: undefined,
    error: undefined
  }
  update(turn, { nextRequest: number + 1, requests: [...turn.state.requests, request] })
  updateClient(turn, { subscribed: { ...turn.state.client.subscribed, [channel]: true } })
  const { subscriptions } = turn.state
  if (
    (!subscriptions.has(key) && subscriptions.size >= limits.subscriptions) ||
    replayBytes(turn.state) + bytes.length > limits.subscriptionBytes
  ) {
    warnUser(
      turn,
      `port ${port} is not subscribed: one connection may hold ${limits.subscriptions} subscriptions of ` +
        `${limits.subscriptionBytes} bytes in all`
    )
    return reject(turn, number, { _tag: "PortAlreadyStolen", value: port }, undefined)
  }
  supersede(turn, subscriptions.get(key))
  const needs = later(row.since, filter && filterNeeds(filter))
  setSubscription(turn, {
    channel,
    port,
    filtered: filter !== undefined,
    needs,
    bytes,
    request: number,
    sent: new Set(),
    leftOut: new Map()
  })
  for (const member of liveMembers(turn.state)) offer(turn, member, key, owe)
}

/**
 * Sends a subscription to a member that has not got it and can read it. A member whose version is needed but not known
 * yet gets nothing; {@link offerAll} comes back to it.
 */
const offer = (turn: Turn, member: MemberName, key: string, owe: Owe): void => {
  const subscription = turn.state.subscriptions.get(key)
  const link = turn.state.links.get(member)
  if (subscription === undefined || link === undefined) return
  const { channel, port, request, needs, filtered, bytes } = subscription
  if (subscription.sent.has(member) || subscription.leftOut.has(member)) return
  if (needs !== undefined) {
    if (link.version === undefined) return
    if (!atLeast(link.version, needs)) return tooOld(turn, member, subscription, link.version)
  }
  const expected: ExpectedResult = { port, request, filtered }
  if (!owe(member, (old) => ({ ...old, results: { ...old.results, [channel]: [...old.results[channel], expected] } })))
    return
  setSubscription(turn, { ...subscription, sent: new Set(subscription.sent).add(member) })
  toMember(turn, member, bytes)
}

/** The member cannot read the subscription, so its request goes on without the member. */
const tooOld = (turn: Turn, member: MemberName, { needs, port, request }: Subscription, version: string): void => {
  if (firstTime(turn, `old ${member} ${needs} ${port}`)) {
    warnUser(
      turn,
      `${nameOf(turn.state, member)} takes no part in the subscription of port ${port}: its agent speaks ` +
        `protocol ${version}, the filter needs ${needs}; upgrade the operator there, or use another filter`
    )
  }
  stopWaiting(turn, member, (open) => open.number === request)
}

/**
 * The requests that `which` chooses wait no longer for a member's answer. If the member is the default, the time of the
 * others begins now.
 */
const stopWaiting = (turn: Turn, member: MemberName, which: (request: SubscriptionRequest) => boolean): void => {
  if (!turn.state.requests.some((request) => request.waiting.has(member) && which(request))) return
  const byDefault = member === turn.state.options.defaultMember
  update(turn, {
    requests: turn.state.requests.map((request) =>
      request.waiting.has(member) && which(request)
        ? {
            ...request,
            waiting: without(request.waiting, member),
            boundFrom: byDefault ? (request.boundFrom ?? turn.now) : request.boundFrom
          }
        : request
    )
  })
}

/**
 * Takes the members that never received a superseded subscription out of its request, where they count as having
 * accepted it. If the port is subscribed again, they get that subscription.
 */
const supersede = (turn: Turn, subscription: Subscription | undefined): void => {
  const request = turn.state.requests.find((open) => open.number === subscription?.request)
  if (subscription === undefined || request === undefined) return
  const unsent = liveMembers(turn.state).filter(
    (member) => request.waiting.has(member) && !subscription.sent.has(member)
  )
  patchRequest(turn, request.number, { accepted: new Set([...request.accepted, ...unsent]) })
  for (const member of unsent) stopWaiting(turn, member, (open) => open.number === request.number)
}

/** Offers all subscriptions to a member that has just connected or made its version known. */
export const offerAll = (turn: Turn, member: MemberName, owe: Owe): void => {
  for (const key of turn.state.subscriptions.keys()) offer(turn, member, key, owe)
}

/** The client's PortUnsubscribe. A request under way still gets its result. */
export const unsubscribeFromClient = (
  turn: Turn,
  { _tag: channel, value: { value: port } }: ClientMessageAt<ClientActions["unsubscribe"]>,
  bytes: Uint8Array
): void => {
  const key = keyOf(channel, port)
  const subscription = turn.state.subscriptions.get(key)
  supersede(turn, subscription)
  if (subscription !== undefined) forget(turn, key)
  for (const member of liveMembers(turn.state)) toMember(turn, member, bytes)
}

/**
 * Fails a request. Members that accepted the subscription, or still may, are unsubscribed at once: a connection keeps
 * the order of its messages. The `culprit`, which refused, needs no unsubscription.
 */
const reject = (turn: Turn, number: number, error: ResponseError, culprit: MemberName | undefined): void => {
  patchRequest(turn, number, { error, waiting: new Set() })
  const subscription = active(turn.state, number)
  if (subscription === undefined) return
  const { channel, port, sent } = subscription
  forget(turn, keyOf(channel, port))
  for (const member of liveMembers(turn.state)) {
    if (member === culprit || !sent.has(member)) continue
    sayToMember(turn, member, { _tag: channel, value: { _tag: "PortUnsubscribe", value: port } })
  }
}

/** The client's subscriptions as it asked for them, a message each. */
export const subscriptionMessages = ({ subscriptions }: RouterState): ReadonlyArray<Uint8Array> => [
  ...subscriptions.values().map(({ bytes }) => bytes)
]

/**
 * The error in a form that the client survives: it accepts only some kinds, and only with the right port (wire.md
 * §6.9).
 */
const survivable = (state: RouterState, error: ResponseError, port: number): ResponseError => {
  const readable = readableError(error, clientVersion(state))
  return portOfError(readable) === port ? readable : { _tag: "PortAlreadyStolen", value: port }
}

/** A member's SubscribeResult. For each port of a channel, results come in the order of the requests. */
export const resultFromMember = (
  turn: Turn,
  { _tag: channel, value: { value: result } }: DaemonMessageAt<DaemonActions["result"]>,
  { link, member }: MemberFrame
): void => {
  const port = result._tag === "Ok" ? result.value : portOfError(result.error)
  const queue = link.results[channel]
  const named = queue.findIndex((expected) => expected.port === port)
  // An error may name no port or a wrong port. It still answers some request, and the client must not wait for ever, so
  // the oldest request is taken.
  const at = named < 0 && result._tag === "Err" ? 0 : named
  const expected = queue[at]
  if (expected === undefined) return drop(turn, "strayResult")
  setLink(turn, member, { ...link, results: { ...link.results, [channel]: queue.toSpliced(at, 1) } })
  if (result._tag === "Err") return refused(turn, member, expected, { error: result.error, text: undefined })
  const request = turn.state.requests.find((open) => open.number === expected.request)
  if (request === undefined || !request.waiting.has(member)) return
  stopWaiting(turn, member, (open) => open.number === request.number)
  patchRequest(turn, request.number, { accepted: new Set(request.accepted).add(member) })
}

/** Why a member does not take a subscription. `text`: its own explanation, if it gave any. */
interface Refusal {
  readonly error: ResponseError
  readonly text: string | undefined
}

const reasonOf = ({ error, text }: Refusal): string => {
  if (error._tag !== "Forbidden" && error._tag !== "ForbiddenWithReason") return text ?? error._tag
  const why = error._tag === "ForbiddenWithReason" ? `: ${quotation(error.reason)}` : ""
  return `its mirrord policy ${quoted(error.policyName ?? "")} forbids it${why}`
}

/** For how long a member that refused is left out. */
const leftOutBy = ({ channel }: Subscription, { error, text }: Refusal): LeftOut => {
  // It answered by a Close, and would end its next connection, too.
  if (text !== undefined) return "forGood"
  // A mirror subscription never finds its port taken. There the error has another cause, such as a policy that an old
  // client cannot learn.
  return channel === "TcpSteal" && error._tag === "PortAlreadyStolen" ? "untilFree" : "untilBack"
}

/**
 * A member refuses a subscription. If the result still waits for the member, the client gets the refusal; otherwise the
 * member is left out of the subscription.
 */
const refused = (turn: Turn, member: MemberName, expected: ExpectedResult, refusal: Refusal): void => {
  const { request: number, port } = expected
  const request = turn.state.requests.find((open) => open.number === number)
  if (request?.waiting.has(member)) return refusedRequest(turn, member, expected, refusal)
  const subscription = active(turn.state, number)
  if (subscription === undefined) return
  const leftOut = leftOutBy(subscription, refusal)
  setSubscription(turn, { ...subscription, leftOut: new Map(subscription.leftOut).set(member, leftOut) })
  if (leftOut === "untilFree") update(turn, { askAgainAt: turn.state.askAgainAt ?? turn.now + limits.askAgainAfter })
  if (firstTime(turn, `${leftOut} ${member} ${port}`)) {
    const until =
      leftOut === "untilFree" ? ` until it is free, which is tried every ${limits.askAgainAfter / 1000} s` : ""
    warnUser(
      turn,
      `${nameOf(turn.state, member)} takes no part in the subscription of port ${port}${until}: ${reasonOf(refusal)}`
    )
  }
}

/** Rejects a request whose result the client still waits for. */
const refusedRequest = (turn: Turn, member: MemberName, { request, port }: ExpectedResult, refusal: Refusal): void => {
  const { error } = refusal
  const reason = reasonOf(refusal)
  // The error has no room for the member's name, so a warning has it. About an agent, one warning is enough: a primary
  // repeats its refused subscriptions every now and then ({@link askAgain}).
  if (turn.state.options.memberKind === "cluster" || firstTime(turn, `refuses ${member} ${port} ${reason}`))
    warnUser(turn, `${nameOf(turn.state, member)} refuses the subscription of port ${port}: ${reason}`)
  reject(turn, request, survivable(turn.state, error, port), member)
}

/**
 * Offers subscriptions again to the members that refused them because another session had the port. No message tells
 * when a port becomes free, and its holder may be a connection that is already dead.
 */
export const askAgain = (turn: Turn, owe: Owe): void => {
  if (turn.state.askAgainAt === undefined || turn.now < turn.state.askAgainAt) return
  const subscriptions = new Map(
    turn.state.subscriptions.entries().map(([key, subscription]) => {
      const others = new Map([...subscription.leftOut].filter(([, leftOut]) => leftOut !== "untilFree"))
      const sent = [...subscription.leftOut.keys()]
        .filter((member) => !others.has(member))
        .reduce(without, subscription.sent)
      return [key, { ...subscription, sent, leftOut: others }]
    })
  )
  update(turn, { askAgainAt: undefined, subscriptions })
  for (const member of liveMembers(turn.state)) offerAll(turn, member, owe)
}

/**
 * Takes a Close as the refusal of the oldest filtered subscription whose result is expected: agents refuse a filter
 * that does not compile by a Close (wire.md §7.4). `false`: no such result is expected, and the Close is meant.
 */
export const closeAsResult = (turn: Turn, member: MemberName, link: Link, reason: string): boolean => {
  const candidates = (["Tcp", "TcpSteal"] as const).flatMap((channel) => {
    const at = link.results[channel].findIndex((expected) => expected.filtered)
    const expected = link.results[channel][at]
    return expected === undefined ? [] : [{ channel, at, expected }]
  })
  const oldest = candidates.toSorted((a, b) => a.expected.request - b.expected.request)[0]
  if (oldest === undefined) return false
  const { channel, at, expected } = oldest
  setLink(turn, member, { ...link, results: { ...link.results, [channel]: link.results[channel].toSpliced(at, 1) } })
  refused(turn, member, expected, { error: { _tag: "PortAlreadyStolen", value: expected.port }, text: reason })
  return true
}

/**
 * Requests wait no longer for a lost member. When it returns, it is offered all subscriptions but those that it refused
 * for good.
 */
export const loseSubscriber = (turn: Turn, member: MemberName): void => {
  stopWaiting(turn, member, () => true)
  update(turn, {
    subscriptions: new Map(
      turn.state.subscriptions.entries().map(([key, subscription]) => {
        const leftOut = new Map([...subscription.leftOut].filter(([name, how]) => name !== member || how === "forGood"))
        return [key, { ...subscription, sent: without(subscription.sent, member), leftOut }]
      })
    )
  })
}

/** Whether the default has accepted or dropped out, and the others have used up their time. */
const overdue = (turn: Turn, { boundFrom }: SubscriptionRequest): boolean =>
  boundFrom !== undefined && turn.now >= boundFrom + turn.state.options.mergeBound

/**
 * The answer when every member is too old for the filter. Of the errors that a client survives, this one alone has room
 * for the reason; a client that cannot read it would name a policy and nothing else.
 */
const tooOldForAll = (
  state: RouterState,
  { channel, number, port }: SubscriptionRequest
): ResponseError | undefined => {
  const needs = active(state, number)?.needs
  if (needs === undefined || !atLeast(clientVersion(state), gate.forbiddenWithReason)) return undefined
  const members = liveMembers(state)
  const old = members.flatMap((member) => {
    const version = state.links.get(member)?.version
    return version === undefined || atLeast(version, needs) ? [] : [version]
  })
  if (old.length === 0 || old.length < members.length) return undefined
  const blockedAction: BlockedAction =
    channel === "Tcp" ? { _tag: "Mirror", value: port } : { _tag: "Steal", value: { _tag: "All", value: port } }
  const reason =
    `it is no policy: the target's agent speaks protocol ${old.join(", ")}, and the filter needs ${needs}; upgrade ` +
    "the operator there, or use another filter"
  return { _tag: "ForbiddenWithReason", blockedAction, policyName: null, reason }
}

/**
 * Answers the requests that are decided. Requests of the same port are answered in their order. This runs after every
 * message, so each request is looked at once, however many are open.
 */
export const settleRequests = (turn: Turn): void => {
  const blocked = new Set<string>()
  const answered = new Set<number>()
  for (const request of turn.state.requests) {
    if (blocked.has(request.key)) continue
    const decided = request.error !== undefined || request.waiting.size === 0 || overdue(turn, request)
    if (decided) {
      answered.add(request.number)
      answer(turn, request)
    } else blocked.add(request.key)
  }
  if (answered.size > 0) {
    update(turn, { requests: turn.state.requests.filter(({ number }) => !answered.has(number)) })
  }
}

/** Gives the client the result of a decided request. */
const answer = (turn: Turn, request: SubscriptionRequest): void => {
  const { accepted, channel, port } = request
  let { error } = request
  if (error === undefined && accepted.size === 0) {
    error = tooOldForAll(turn.state, request) ?? { _tag: "PortAlreadyStolen", value: port }
    warnUser(turn, `no ${turn.state.options.memberKind} takes the subscription of port ${port}`)
    reject(turn, request.number, error, undefined)
  }
  sayToClient(turn, {
    _tag: channel,
    value: {
      _tag: "SubscribeResult",
      value: error === undefined ? { _tag: "Ok", value: port } : { _tag: "Err", error }
    }
  })
}

/** When {@link settleRequests} has something to do without any further message. */
export const requestDeadline = (state: RouterState): number | undefined => {
  const seen = new Set<string>()
  let first = Infinity
  for (const { key, boundFrom } of state.requests) {
    // A later request of the same port is answered after the earlier request, however long it has waited.
    if (!seen.has(key)) first = Math.min(first, boundFrom ?? Infinity)
    seen.add(key)
  }
  return first === Infinity ? undefined : first + state.options.mergeBound
}

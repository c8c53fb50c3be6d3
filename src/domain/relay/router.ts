/**
 * The router: one client connection, N members, as a pure machine. docs/reference/routing.md is its readable form.
 *
 * Not here: where a message goes (table.ts), and how that is carried out (from-client.ts, from-member.ts).
 */

import { fromClient } from "./from-client.ts"
import { fromMember } from "./from-member.ts"
import { warnUser } from "./handshake.ts"
import type { MemberName } from "./member.ts"
import { lose, owe } from "./membership.ts"
import { pingDeadline, settlePings } from "./pings.ts"
import {
  initialState,
  type RouterInput,
  type RouterOptions,
  type RouterOutput,
  type RouterState,
  setLink,
  type Turn,
  update,
  wakeAt
} from "./state.ts"
import { askAgain, offerAll, requestDeadline, settleRequests } from "./subscriptions.ts"
import { introduce } from "./versions.ts"

export type { DropReason, RouterInput, RouterOptions, RouterOutput, RouterState } from "./state.ts"

export const makeRouter = (options: RouterOptions): RouterState => initialState(options)

/** Never throws, whatever the bytes; never changes a state that it was given. */
export const step = (state: RouterState, input: RouterInput): readonly [RouterState, ReadonlyArray<RouterOutput>] => {
  if (state.ended) return [state, []]
  const turn: Turn = { now: input.now, state, outputs: [] }
  // Deadlines that have passed are settled before this input: a late answer stays late even if the Tick comes after it.
  settle(turn)
  switch (input._tag) {
    case "FromClient":
      fromClient(turn, input.bytes)
      break
    case "FromMember":
      fromMember(turn, input.member, input.bytes)
      break
    case "MemberConnected":
      connected(turn, input.member)
      break
    case "MemberLost":
      if (turn.state.links.has(input.member)) lose(turn, input.member, input.reason)
      break
    case "MemberLeft":
      if (turn.state.links.has(input.member)) lose(turn, input.member, input.reason)
      setMembers(
        turn,
        turn.state.options.members.filter(
          (member) => member !== input.member || member === turn.state.options.defaultMember
        )
      )
      break
    case "WarnUser":
      warnUser(turn, input.message)
      break
    case "Tick":
      break
  }
  settle(turn)
  schedule(turn)
  return [turn.state, turn.outputs]
}

const settle = (turn: Turn): void => {
  settlePings(turn)
  settleRequests(turn)
  askAgain(turn, owe(turn))
}

const nextDeadline = (state: RouterState): number =>
  Math.min(pingDeadline(state) ?? Infinity, requestDeadline(state) ?? Infinity, state.askAgainAt ?? Infinity)

/**
 * Until when (epoch ms, exclusive) time alone changes nothing: an earlier {@link step} does what its input asks for and
 * nothing else.
 */
export const restsUntil = (state: RouterState): number => {
  if (state.ended) return -Infinity
  const at = nextDeadline(state)
  if (at === Infinity) return Infinity
  return state.wakeAt !== undefined && state.wakeAt <= at ? state.wakeAt : -Infinity
}

const schedule = (turn: Turn): void => {
  const { state, now } = turn
  if (state.ended) return
  const at = nextDeadline(state)
  if (at === Infinity || (state.wakeAt !== undefined && state.wakeAt > now && state.wakeAt <= at)) return
  update(turn, { wakeAt: at })
  wakeAt(turn, at)
}

const setMembers = (turn: Turn, members: ReadonlyArray<MemberName>): void =>
  update(turn, { options: { ...turn.state.options, members } })

const connected = (turn: Turn, member: MemberName): void => {
  const { options } = turn.state
  if (!options.members.includes(member)) setMembers(turn, [...options.members, member])
  if (turn.state.links.has(member)) lose(turn, member, "it was replaced by a new connection")
  if (turn.state.ended) return
  setLink(turn, member, { version: undefined, versionSwitches: [], pings: [], results: { Tcp: [], TcpSteal: [] } })
  if (options.pingMembersEvery !== undefined && turn.state.nextOwnPing === undefined) {
    update(turn, { nextOwnPing: turn.now + options.pingMembersEvery })
  }
  introduce(turn, member, owe(turn))
  offerAll(turn, member, owe(turn))
  if (member !== options.defaultMember) return
  const { postponed } = turn.state
  update(turn, { postponed: [], postponedCost: 0 })
  for (const bytes of postponed) if (!turn.state.ended) fromClient(turn, bytes)
}

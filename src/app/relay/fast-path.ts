/**
 * Forwards bulk messages, unread, by the route that the router chose for the first message of their kind
 * (relay/learnt-routes.ts).
 *
 * Not here: all other messages, which message-path.ts handles.
 */

import { mustHear } from "../../domain/protocol/message-filter.ts"
import { peekClient, peekDaemon } from "../../domain/protocol/peek.ts"
import { LearntRoutes } from "../../domain/relay/learnt-routes.ts"
import type { MemberName } from "../../domain/relay/member.ts"
import { restsUntil, type RouterState, type step } from "../../domain/relay/router.ts"
import type { FrameHandlers, FrameRoute } from "../../ports/frame-channel.ts"
import type { ClientConnection, RouterInputBody } from "./client-connection.ts"

type RouteHandlers = Required<Pick<FrameHandlers, "routeOf" | "passed" | "tally">>

/** Judges the client's messages; `passed` follows each read in which a message passed. */
export const routeClient = (connection: ClientConnection, passed: () => void): RouteHandlers => {
  const { counts, routes } = connection
  return { ...routeHandlers(connection, routes.client, passed), tally: counts.received.client }
}

/** As {@link routeClient}, for the messages of a member's new channel. */
export const routeMember = (connection: ClientConnection, member: MemberName, passed: () => void): RouteHandlers => {
  const routes = new LearntRoutes<FrameRoute>("member")
  connection.routes.members.set(member, routes)
  return { ...routeHandlers(connection, routes, passed), tally: connection.counts.received.member }
}

/**
 * No message is routed after the connection's end, while an input is under way, or when a deadline of the router has
 * come: then the router must see the message. The clock is read once for the messages that pass in one read.
 */
const routeHandlers = (
  connection: ClientConnection,
  routes: LearntRoutes<FrameRoute>,
  passed: () => void
): Omit<RouteHandlers, "tally"> => {
  let state: RouterState | undefined
  let until = -Infinity
  let isRested = false
  return {
    routeOf: (head, length) => {
      if (connection.isOver || connection.isFeeding) return undefined
      if (state !== connection.state) {
        state = connection.state
        until = restsUntil(state)
        isRested = false
      }
      isRested ||= connection.clock.currentTimeMillisUnsafe() < until
      const route = isRested ? routes.routeOf(state, head, length) : undefined
      if (route === undefined) isRested = false
      return route
    },
    passed: () => {
      isRested = false
      passed()
    }
  }
}

/** Remembers the route of a bulk message, for those that follow it; not of one whose like a filter must hear. */
export const learnRoute = (
  connection: ClientConnection,
  input: RouterInputBody,
  before: RouterState,
  decided: ReturnType<typeof step>
): void => {
  const { channels, filters, options, routes } = connection
  if (input._tag !== "FromClient" && input._tag !== "FromMember") return
  const known = input._tag === "FromClient" ? routes.client : routes.members.get(input.member)
  known?.learn(before, input.bytes, decided, ({ member, ...route }) => {
    const isHeard =
      input._tag === "FromClient"
        ? mustHear(filters, "fromClient", peekClient(input.bytes))
        : mustHear(filters, "toClient", peekDaemon(input.bytes))
    if (isHeard) return undefined
    const channel = member === undefined ? options.client : channels.get(member)
    return channel === undefined ? undefined : { ...route, to: channel.direct ?? channel }
  })
}

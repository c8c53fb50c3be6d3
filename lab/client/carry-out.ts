/**
 * Carries out the requests of local programs: whether a client of this kind serves the request, and which file sends
 * its messages.
 */

import type { ClientKind, ClientRequest } from "./client-input.ts"
import { notDone, type Turn, update } from "./client-state.ts"
import { requestFile } from "./file-requests.ts"
import { failResponse, respond, respondBody } from "./http-responses.ts"
import { closeConnection, sendData } from "./incoming-traffic.ts"
import { requestEnv, requestLookup } from "./lookups.ts"
import { closeOutgoing, connect, write } from "./outgoing-connections.ts"
import { subscribe, unsubscribe } from "./port-subscriptions.ts"

/** Requests that each kind of client serves; `cli` and `extproxy` ask for nothing on their own connection. */
const serves: Readonly<Record<ClientKind, ReadonlySet<ClientRequest["_tag"]> | "all">> = {
  cli: new Set(),
  extproxy: new Set(),
  intproxy: "all",
  portForward: new Set(["Resolve", "Connect", "Write", "CloseOutgoing"]),
  reversePortForward: new Set([
    "Steal",
    "Mirror",
    "Unsubscribe",
    "Respond",
    "RespondBody",
    "FailResponse",
    "SendData",
    "CloseConnection"
  ]),
  dump: new Set(["Mirror"])
}

type Handlers = {
  readonly [Tag in ClientRequest["_tag"]]: (turn: Turn, request: Extract<ClientRequest, { readonly _tag: Tag }>) => void
}

const handlers: Handlers = {
  FetchEnv: (turn, { selection }) => requestEnv(turn, selection),
  File: (turn, wanted) => requestFile(turn, wanted, wanted.request),
  Resolve: requestLookup,
  Connect: connect,
  Write: write,
  CloseOutgoing: closeOutgoing,
  Steal: subscribe,
  Mirror: subscribe,
  Unsubscribe: unsubscribe,
  Respond: respond,
  RespondBody: respondBody,
  FailResponse: failResponse,
  SendData: sendData,
  CloseConnection: closeConnection
}

/** Does what a local program wants, at once or as soon as there is a version and a socket. */
export const carryOut = (turn: Turn, request: ClientRequest): void => {
  const { options, phase, online, version, attempts } = turn.state
  const served = serves[options.kind]
  if (served !== "all" && !served.has(request._tag))
    return notDone(turn, request, `a client of the kind ${options.kind} does not do this`)
  if (options.kind === "portForward" && request._tag === "Connect" && request.transport !== "Tcp") {
    return notDone(turn, request, "port-forwarding connects over TCP only")
  }
  // On the first socket all requests wait for the version; after a reconnect the oldest forms go out at once (wire.md
  // §5.5).
  if (phase !== "main" || !online || (version === undefined && attempts === 0)) {
    return update(turn, { held: [...turn.state.held, request] })
  }
  const handler: (turn: Turn, request: never) => void = handlers[request._tag]
  // Each tag has the handler of its own requests.
  handler(turn, request as never)
}

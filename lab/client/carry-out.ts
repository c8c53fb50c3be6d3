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
  switch (request._tag) {
    case "FetchEnv":
      return requestEnv(turn, request.selection)
    case "File":
      return requestFile(turn, request, request.request)
    case "Resolve":
      return requestLookup(turn, request)
    case "Connect":
      return connect(turn, request)
    case "Write":
      return write(turn, request)
    case "CloseOutgoing":
      return closeOutgoing(turn, request)
    case "Steal":
    case "Mirror":
      return subscribe(turn, request)
    case "Unsubscribe":
      return unsubscribe(turn, request)
    case "Respond":
      return respond(turn, request)
    case "RespondBody":
      return respondBody(turn, request)
    case "FailResponse":
      return failResponse(turn, request)
    case "SendData":
      return sendData(turn, request)
    case "CloseConnection":
      return closeConnection(turn, request)
  }
}

/**
 * Environment and name look-ups of the strict client: one FIFO of pending requests each, both sent through the queue
 * `simple` (wire.md §6.6).
 */

import type { DaemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import type { ClientRequest, EnvSelection } from "./client-input.ts"
import { event, fatal, send, speaks, type Turn, update } from "./client-state.ts"

type EnvResponse = Extract<DaemonMessage, { readonly _tag: "GetEnvVarsResponse" }>
type LookupResponse = Extract<DaemonMessage, { readonly _tag: "GetAddrInfoResponse" }>

/** The version that has GetAddrInfoRequestV2 (wire.md §5.2). */
const lookupV2 = "1.15.0"

export const requestEnv = (turn: Turn, selection: EnvSelection): void => {
  update(turn, { envs: [...turn.state.envs, { _tag: "FetchEnv", selection }] })
  send(turn, "simple", {
    _tag: "GetEnvVarsRequest",
    value: { envVarsFilter: selection.filter, envVarsSelect: selection.select }
  })
}

export const envAnswer = (turn: Turn, { value }: EnvResponse): void => {
  const [first, ...envs] = turn.state.envs
  if (first === undefined)
    return fatal(turn, "wire.md §6.6 GetEnvVarsRequest", "a surplus environment: no request waits")
  update(turn, { envs })
  event(turn, { _tag: "Env", result: value })
}

export const requestLookup = (turn: Turn, request: Extract<ClientRequest, { readonly _tag: "Resolve" }>): void => {
  const { node, servicePort } = request
  update(turn, { lookups: [...turn.state.lookups, { node, request }] })
  // Port-forwarding never uses the second form (wire.md §5.2).
  if (turn.state.options.kind === "portForward" || !speaks(turn.state, lookupV2)) {
    return send(turn, "simple", { _tag: "GetAddrInfoRequest", value: { node } })
  }
  send(turn, "simple", {
    _tag: "GetAddrInfoRequestV2",
    value: {
      node,
      servicePort: servicePort ?? 0,
      family: { _tag: "Any" },
      socktype: { _tag: "Any" },
      flags: 0,
      protocol: 0
    }
  })
}

export const lookupAnswer = (turn: Turn, { value }: LookupResponse): void => {
  const [first, ...lookups] = turn.state.lookups
  if (turn.state.options.kind === "portForward") {
    // Only an answer with exactly one address needs a waiting request.
    if (first === undefined && value._tag === "Ok" && value.value.length === 1) {
      return fatal(turn, "wire.md §6.2 F", "an address for nobody: no lookup waits")
    }
    if (first === undefined)
      return event(turn, { _tag: "Ignored", what: "surplusLookup", message: "GetAddrInfoResponse" })
  } else if (
    value._tag === "Err" &&
    value.error._tag === "DnsLookup" &&
    value.error.value.kind._tag === "PermissionDenied"
  ) {
    return fatal(turn, "wire.md §6.7", "DNS is denied to the agent: the cluster is hardened")
  }
  if (first === undefined)
    return fatal(turn, "wire.md §6.6 GetAddrInfoRequest", "a surplus lookup answer: no request waits")
  update(turn, { lookups })
  event(turn, { _tag: "Resolved", node: first.node, result: value })
}

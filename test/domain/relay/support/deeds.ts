/** Deeds that fast-check lets happen, and their parts by name. */

import * as fc from "fast-check"
import type { ClientRequest } from "../../../../lab/client/client-input.ts"
import type { MemberName } from "../../../../src/domain/relay/member.ts"
import type { AgentCommand } from "./agent-state.ts"
import type { Deed } from "./world.ts"

const peer = { _tag: "Ip", value: { ip: "10.9.9.9", port: 5432 } } as const
export const access: ClientRequest = { _tag: "File", request: { _tag: "Access", value: { pathname: "/a", mode: 0 } } }
const open: ClientRequest = {
  _tag: "File",
  request: {
    _tag: "Open",
    value: {
      path: "/b",
      openOptions: { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
    }
  }
}
const read: ClientRequest = { _tag: "File", request: { _tag: "Read", value: { remoteFd: 0n, bufferSize: 10n } } }
const closeFile: ClientRequest = { _tag: "File", request: { _tag: "Close", value: { fd: 0n } } }
export const resolve: ClientRequest = { _tag: "Resolve", node: "db" }
const fetchEnv: ClientRequest = { _tag: "FetchEnv", selection: { filter: new Set(), select: new Set(["*"]) } }
export const connect = (transport: "Tcp" | "Udp" | "Seqpacket", uid: bigint): ClientRequest => ({
  _tag: "Connect",
  transport,
  uid,
  remoteAddress: transport === "Seqpacket" ? { _tag: "Unix", value: { _tag: "Pathname", value: "/s" } } : peer
})
export const steal = (port: number): ClientRequest => ({ _tag: "Steal", type: { _tag: "All", value: port } })
export const stealHeader = (port: number, filter: string): ClientRequest => ({
  _tag: "Steal",
  type: { _tag: "FilteredHttpEx", port, filter: { _tag: "Header", value: filter } }
})
export const mirror = (port: number): ClientRequest => ({ _tag: "Mirror", port })
const unsubscribe = (port: number): ClientRequest => ({ _tag: "Unsubscribe", port })

const stolenPorts = [80, 81] as const
const mirroredPorts = [90, 91] as const

const statefulRequest = fc.constantFrom(access, open, read, closeFile, resolve, fetchEnv)
const subscription = fc.oneof(
  fc.constantFrom(...stolenPorts).map(steal),
  fc.constantFrom(...stolenPorts).map((port) => stealHeader(port, "x-user: ann")),
  fc.constantFrom(...mirroredPorts).map(mirror),
  fc.constantFrom(...stolenPorts, ...mirroredPorts).map(unsubscribe)
)

const channelAndPort = fc.oneof(
  fc.constantFrom(...stolenPorts).map((port) => ({ channel: "TcpSteal" as const, port })),
  fc.constantFrom(...mirroredPorts).map((port) => ({ channel: "Tcp" as const, port }))
)
const which = fc.nat({ max: 5 })
const channel = fc.constantFrom("Tcp" as const, "TcpSteal" as const)

const traffic: fc.Arbitrary<AgentCommand> = fc.oneof(
  { weight: 3, arbitrary: channelAndPort.map((where) => ({ _tag: "Open", ...where }) as const) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(channelAndPort, fc.nat({ max: 3 }))
      .map(([where, pieces]) => ({ _tag: "Request", ...where, pieces }) as const)
  },
  { weight: 4, arbitrary: fc.record({ _tag: fc.constant("Say" as const), channel, which }) },
  { weight: 2, arbitrary: fc.record({ _tag: fc.constant("End" as const), channel, which, twice: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ _tag: "Log", level: "Warn" } as const) }
)

export interface DeedKinds {
  readonly members: ReadonlyArray<MemberName>
  /** Members that may be lost and return. */
  readonly unsteady?: ReadonlyArray<MemberName>
  readonly stateful?: boolean
  readonly subscriptions?: boolean
  readonly traffic?: boolean
  readonly pings?: boolean
}

/** A script of deeds; uids of connects are distinct. */
export const deeds = (kinds: DeedKinds, maxLength = 30): fc.Arbitrary<Array<Deed>> => {
  const { members, unsteady = [] } = kinds
  const some: Array<{ readonly weight: number; readonly arbitrary: fc.Arbitrary<Deed | "Connect"> }> = []
  const ask = (request: ClientRequest): Deed => ({ _tag: "Do", request })
  if (kinds.stateful) {
    some.push(
      { weight: 4, arbitrary: statefulRequest.map(ask) },
      { weight: 2, arbitrary: fc.constant("Connect" as const) }
    )
  }
  if (kinds.subscriptions) some.push({ weight: 2, arbitrary: subscription.map(ask) })
  if (kinds.traffic) {
    some.push({
      weight: 8,
      arbitrary: fc
        .tuple(fc.constantFrom(...members), traffic)
        .map(([member, command]) => ({ _tag: "At", member, command }))
    })
  }
  if (unsteady.length > 0) {
    const member = fc.constantFrom(...unsteady)
    some.push({
      weight: 3,
      arbitrary: fc
        .tuple(fc.constantFrom("Lose" as const, "Return" as const), member)
        .map(([_tag, one]) => ({ _tag, member: one }))
    })
  }
  if (kinds.pings)
    some.push({
      weight: 1,
      arbitrary: fc.constantFrom(100, 1999, 2000, 20_000, 30_000).map((ms) => ({ _tag: "Wait", ms }))
    })
  const transports = ["Tcp", "Udp", "Seqpacket"] as const
  return fc
    .array(fc.oneof(...some), { maxLength })
    .map((all) =>
      all.map((one, at): Deed => (one === "Connect" ? ask(connect(transports[at % 3] ?? "Tcp", BigInt(at + 1))) : one))
    )
}

/** Which of the waiting messages is delivered next, again and again. */
export const choices = fc.array(fc.nat({ max: 5039 }), { maxLength: 250 })

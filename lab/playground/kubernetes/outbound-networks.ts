/**
 * Networks in which a primary cannot reach the members that dial out. The primary has a network of its own, with a door
 * to each member that it is to reach. Its cell is dialled from the members' network through a third one, which
 * translates addresses and begins no connection the other way.
 *
 *     primary 198.51.100.2 ── 198.51.100.1 translation 192.0.2.1 ── 192.0.2.2 members
 *
 * The members' programs stay in this machine's network: doors lead what they dial into theirs, and their API servers'
 * ports are there as well.
 */

import { Effect, type Scope } from "effect"
import type { Endpoint } from "../../cluster/network/endpoint.ts"
import { TcpForwarder } from "../../cluster/network/tcp-forwarder.ts"
import { type ClosedNetwork, openClosedNetwork } from "../closed-network.ts"
import { dialFrom } from "../dial-from.ts"
import type { OpenedCell } from "../dial-out.ts"
import type { NetworksApart } from "../local-cluster.ts"
import { PlaygroundError } from "../readiness.ts"

/** Addresses for documentation (RFC 5737), which no machine has. */
const addresses = { primary: "198.51.100.2", members: "192.0.2.2" } as const

const membersSide = `
  ip address add ${addresses.members}/24 dev out
  ip link set out up
  ip route add ${addresses.primary} via 192.0.2.1`

const primarySide = `
  ip address add ${addresses.primary}/24 dev in
  ip link set in up`

/** Packets of connections that it does not know are dropped unanswered, as by a router that has forgotten them. */
const translation = (primary: ClosedNetwork, members: ClosedNetwork): string => `
  ip link add inside type veth peer name out netns ${members.pid}
  ip link add outside type veth peer name in netns ${primary.pid}
  ip address add 192.0.2.1/24 dev inside
  ip address add 198.51.100.1/24 dev outside
  ip link set inside up
  ip link set outside up
  echo 1 > /proc/sys/net/ipv4/ip_forward
  echo 0 > /proc/sys/net/netfilter/nf_conntrack_tcp_loose
  iptables -P INPUT DROP
  iptables -P FORWARD DROP
  iptables -A FORWARD -m conntrack --ctstate ESTABLISHED -j ACCEPT
  iptables -A FORWARD -m conntrack --ctstate NEW -i inside -o outside -j ACCEPT
  iptables -t nat -A POSTROUTING -o outside -j MASQUERADE`

export interface OutboundNetworks extends NetworksApart {
  readonly primary: ClosedNetwork
  /** Lets the primary reach an API server of this machine. */
  readonly admit: (server: string) => Effect.Effect<void, PlaygroundError, Scope.Scope>
  /** Gives an API server of this machine its address in the members' network. */
  readonly hide: (server: string) => Effect.Effect<void, PlaygroundError, Scope.Scope>
  /** The way to the cell through the translation. */
  readonly through: (opened: OpenedCell) => Effect.Effect<OpenedCell, PlaygroundError, Scope.Scope>
}

const attempt = <A>(what: string, make: () => Promise<A>): Effect.Effect<A, PlaygroundError> =>
  Effect.tryPromise({ try: make, catch: (cause) => new PlaygroundError({ detail: `${what}: ${String(cause)}` }) })

const portOf = (server: string): number => Number(new URL(server).port)

/** Has a port of a network lead to an address of this machine, until the scope ends. */
const leadOut = Effect.fnUntraced(function* (network: ClosedNetwork, at: { host: string; port: number }, to: Endpoint) {
  const forwarder = yield* Effect.acquireRelease(
    Effect.sync(() => new TcpForwarder(() => to)),
    (opened) => Effect.sync(() => opened.close())
  )
  yield* attempt(`${at.host}:${at.port} cannot be listened on`, () => network.listenAt(at, forwarder.server))
})

/** Makes the networks, which end with the scope. */
export const openOutboundNetworks: Effect.Effect<OutboundNetworks, PlaygroundError, Scope.Scope> = Effect.gen(
  function* () {
    const [primary, members, between] = yield* Effect.all([openClosedNetwork, openClosedNetwork, openClosedNetwork])
    yield* attempt("the networks cannot be joined", async () => {
      await between.run(translation(primary, members))
      await members.run(membersSide)
      await primary.run(primarySide)
    })
    const local = (port: number): Endpoint => ({ ip: "127.0.0.1", port })
    /** The port of this machine that leads to a port of the primary's, which leads to `address`. */
    const throughTranslation = Effect.fnUntraced(function* (address: string) {
      const at = { host: addresses.primary, port: Number(address.split(":")[1]) }
      yield* leadOut(primary, at, local(at.port))
      const port = yield* attempt("there is no way out", () => members.leadTo(at, { host: "127.0.0.1", port: 0 }))
      return `127.0.0.1:${port}`
    })
    return {
      primary,
      atTranslation: (commands) => attempt("a command at the translation", () => between.run(commands)),
      admit: (server) => leadOut(primary, { host: "127.0.0.1", port: portOf(server) }, local(portOf(server))),
      hide: (server) => leadOut(members, { host: addresses.members, port: portOf(server) }, local(portOf(server))),
      through: ({ bootstrap, cell, pin }) =>
        Effect.map(
          Effect.all([throughTranslation(cell), throughTranslation(bootstrap)]),
          ([newCell, newBootstrap]) => ({ cell: newCell, bootstrap: newBootstrap, pin })
        ),
      dialled: (server) =>
        Effect.map(
          Effect.forEach(["127.0.0.1", addresses.members], (host) =>
            attempt("the primary's network cannot be entered", () =>
              dialFrom(primary.inNetwork, { host, port: portOf(server) })
            ).pipe(Effect.map((outcome) => [`${host}:${portOf(server)}`, outcome] as const))
          ),
          Object.fromEntries
        )
    } satisfies OutboundNetworks
  }
)

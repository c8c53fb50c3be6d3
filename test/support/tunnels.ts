/** A cell and outposts over sockets of this machine, with certificates of an authority of their own. */

import type { Duplex } from "node:stream"
import { Effect, Exit, Result, Scope } from "effect"
import { makeTunnelListener } from "../../src/adapters/tunnel/cell-listener.ts"
import { type ListenerBounds, defaultBounds } from "../../src/adapters/tunnel/guarded-listener.ts"
import { makeTunnelDialler } from "../../src/adapters/tunnel/tunnel-dialler.ts"
import {
  cellProblem,
  type KeptCertificate,
  makeOutpostRequest,
  makeTunnelAuthority,
  pinProblem,
  readMemberCertificate,
  signCell,
  signOutpost
} from "../../src/adapters/x509/tunnel-certificates.ts"
import { clusterName } from "../../src/domain/fleet/cluster-name.ts"
import {
  type CellOptions,
  type CellTunnel,
  type DialOptions,
  RedemptionRefused,
  type Tunnel,
  type TunnelIdentity
} from "../../src/ports/tunnel.ts"
import { until } from "./until.ts"

export const tunnelLife = { from: Date.now() - 60_000, until: Date.now() + 86_400_000 }

export const dialler = makeTunnelDialler({ cellProblem, pinProblem })

export const outpostIdentity = async (
  authority: KeptCertificate,
  name = "cluster-b",
  life = tunnelLife
): Promise<TunnelIdentity> => {
  const { keyPem, requestPem } = await makeOutpostRequest()
  const signed = await signOutpost(authority, { requestPem, name: clusterName(name), life })
  return { certificatePem: Result.getOrThrow(signed), keyPem, authoritiesPem: authority.certificatePem }
}

export const cellIdentity = async (authority: KeptCertificate, life = tunnelLife): Promise<TunnelIdentity> => ({
  ...(await signCell(authority, ["cell.invalid"], life)),
  authoritiesPem: authority.certificatePem
})

/** All of a cell that a test may change. */
export interface TestCell {
  readonly authority: KeptCertificate
  identity: TunnelIdentity
  refusal: CellOptions["refusal"]
  outside: CellOptions["outside"]
  redeem: CellOptions["redeem"]
  readonly tunnels: Array<CellTunnel>
  readonly address: string
  readonly bootstrapAddress: string
  /** Host and port at which WebSockets carry both. */
  readonly webSocketAddress: string
  /** The tunnel that a dial made at the cell, by its place in the order. */
  readonly tunnel: (at: number) => Promise<CellTunnel>
  /** `until`: the scope with which the tunnel ends; the cell's by default. */
  readonly dial: (options?: Partial<DialOptions>, until?: Scope.Scope) => Promise<Tunnel>
  readonly close: () => Promise<void>
}

export const startCell = async (bounds: Partial<ListenerBounds> = {}): Promise<TestCell> => {
  const scope = Effect.runSync(Scope.make())
  const authority = await makeTunnelAuthority(tunnelLife)
  const member = await outpostIdentity(authority)
  const state = {
    authority,
    identity: await cellIdentity(authority),
    refusal: (() => undefined) as CellOptions["refusal"],
    outside: (() => undefined) as CellOptions["outside"],
    redeem: (() => new RedemptionRefused({ message: "no" })) as CellOptions["redeem"],
    tunnels: new Array<CellTunnel>()
  }
  const { bootstrapPort, port, webSocketPort } = await Effect.runPromise(
    makeTunnelListener(readMemberCertificate, { ...defaultBounds, atOnce: 100, perSecond: 1_000, ...bounds })
      .listen({
        // No machine has the first one (RFC 5737), so that the next is used.
        hosts: ["192.0.2.1", "127.0.0.1"],
        port: 0,
        bootstrapPort: 0,
        webSocketPort: 0,
        identity: () => state.identity,
        refusal: (one) => state.refusal(one),
        outside: (from) => state.outside(from),
        redeem: (one) => state.redeem(one),
        accepted: (tunnel) => state.tunnels.push(tunnel)
      })
      .pipe(Scope.provide(scope))
  )
  const address = `127.0.0.1:${port}`
  return Object.assign(state, {
    address,
    bootstrapAddress: `127.0.0.1:${bootstrapPort}`,
    webSocketAddress: `127.0.0.1:${webSocketPort}`,
    tunnel: (at: number) => until(`tunnel ${at}`, () => state.tunnels[at]),
    dial: (options: Partial<DialOptions> = {}, own: Scope.Scope = scope) =>
      Effect.runPromise(dialler.dial({ address, identity: member, serve: echo, ...options }).pipe(Scope.provide(own))),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  })
}

/** Serves a lane by sending back all that comes. */
export const echo = (lane: Duplex): void => void lane.pipe(lane)

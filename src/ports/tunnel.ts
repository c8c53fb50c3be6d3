/**
 * The port for tunnels: connections that a member's operator, the outpost, dials to its primary, the cell, so that a
 * cluster takes part in sessions although its API server cannot be reached (docs/operating/outbound.md). A tunnel is
 * authenticated by certificates on both sides. The cell opens lanes on it, each a stream of bytes of its own; the
 * outpost opens none.
 *
 * Not here: when a tunnel is dialled, renewed and given up (domain/outbound).
 */

import type { Duplex } from "node:stream"
import { Context, Data, type Effect, type Redacted, type Scope } from "effect"
import type { ClusterName } from "../domain/fleet/cluster-name.ts"
import type { CommandSequence } from "../domain/outbound/command-sequence.ts"

/** The certificate that a member proved to have. */
export interface MemberCertificate {
  /** From the certificate and nowhere else. */
  readonly name: ClusterName
  /** SHA-256 of the public key's SPKI, hex. */
  readonly keyId: string
  /** When the certificate ends, epoch ms. */
  readonly until: number
}

/** One tunnel, as both sides see it. Nothing here throws; on a tunnel that has ended it does nothing. */
export interface Tunnel {
  /** 64 hexadecimal digits that both ends of this TLS connection know, and no end of any other. */
  readonly binding: string
  /** Sends one line of the control lane. `line`: without its end. */
  readonly send: (line: string) => void
  /** Starts the delivery of the other side's lines. Called once; lines that came before are delivered first. */
  readonly listen: (onLine: (line: string) => void) => void
  /** Bytes that have come, of all lanes: a tunnel whose count grows is alive. */
  readonly received: () => number
  /** Completes when the tunnel has ended, with the reason as a sentence. */
  readonly ended: Effect.Effect<string>
  /** Ends the tunnel and all its lanes at once, without waiting for the other side. */
  readonly destroy: (why: string) => void
}

/**
 * The use of a lane: the primary's own requests and links, or one request of a person. A member whose operator does not
 * know the second kind refuses it, so that no request of a person is ever made as the primary's.
 */
export type LaneKind = "api" | "people"

/** A tunnel at the cell. */
export interface CellTunnel extends Tunnel {
  readonly member: MemberCertificate
  /** The address that the member dialled from, as the cell sees it. */
  readonly from: string
  /** Opens a lane to the member's API server: HTTP/1.1 in clear, inside of the tunnel's TLS. */
  readonly openLane: (kind?: LaneKind) => Duplex
  /** Lanes that are open now, without the control lane. */
  readonly lanes: () => number
  /** Opens no more lanes; the tunnel ends with the last one. */
  readonly drain: () => void
}

/** The certificates that a side of a tunnel shows and trusts, PEM. */
export interface TunnelIdentity {
  readonly certificatePem: string
  readonly keyPem: Redacted.Redacted
  /** The authorities of the other side; several while they are exchanged. */
  readonly authoritiesPem: string
}

/** A member that asks for its first certificate, or for another one after its last has ended. */
export interface Redemption {
  readonly token: Redacted.Redacted
  /** PKCS #10, PEM. */
  readonly requestPem: string
  /** The address that the request came from. */
  readonly from: string
}

/** The certificates that a member gets for its token. */
export interface Redeemed {
  readonly certificatePem: string
  readonly authoritiesPem: string
  /** The place of the authorities among the primary's commands: the member accepts later ones alone. */
  readonly sequence: CommandSequence
}

/** A redemption is refused; `message` is sent to the member. */
export class RedemptionRefused extends Data.TaggedError("RedemptionRefused")<{
  readonly message: string
  /** Whether the member is to try the same token again, as where the primary cannot be reached; not unless given. */
  readonly mayPass?: boolean
}> {}

/** The cell cannot listen; `message` says why. */
export class CellNotServed extends Data.TaggedError("CellNotServed")<{ readonly message: string }> {}

export interface CellOptions {
  /** Addresses to listen on; each after the first is used if this machine does not have the one before. */
  readonly hosts: ReadonlyArray<string>
  /** Port of the tunnels; 0 for any that is free. */
  readonly port: number
  /** Port of redemptions, the only one before certificates; 0 for any that is free. */
  readonly bootstrapPort: number
  /** Port at which WebSockets carry both, in clear; 0 for any that is free. There is none without it. */
  readonly webSocketPort?: number | undefined
  /** Read for each new connection, so that a renewed identity is shown at once. */
  readonly identity: () => TunnelIdentity
  /** The reason why this certificate is refused although its authority is trusted; `undefined` if it is not. */
  readonly refusal: (member: MemberCertificate) => string | undefined
  /** Takes a tunnel. Called in the turn in which it stands. */
  readonly accepted: (tunnel: CellTunnel) => void
  /** The reason why no token is taken from an address, a sentence without its end; `undefined` if one is. */
  readonly outside: (from: string) => string | undefined
  readonly redeem: (redemption: Redemption) => Effect.Effect<Redeemed, RedemptionRefused>
}

/** The ports on which a cell listens. */
export interface CellPorts {
  readonly port: number
  readonly bootstrapPort: number
  /** Missing if the cell takes no WebSockets. */
  readonly webSocketPort?: number | undefined
}

/** The cell's side: accepts tunnels and redemptions until its scope ends, and ends all tunnels with it. */
export class TunnelListener extends Context.Service<
  TunnelListener,
  {
    readonly listen: (options: CellOptions) => Effect.Effect<CellPorts, CellNotServed, Scope.Scope>
  }
>()("braid/ports/TunnelListener") {}

/** A tunnel does not stand; `message` says why and what to do. */
export class DialFailed extends Data.TaggedError("DialFailed")<{
  /**
   * `Refused`: the cell answered, and will answer the same again. `Untrusted`: the certificate on the way is not the
   * cell's. `Unreachable`: everything that may pass.
   */
  readonly reason: "Refused" | "Untrusted" | "Unreachable"
  readonly message: string
}> {}

export interface DialOptions {
  /** Host and port of the cell, `cell.example.com:8443`, or the URL of a WebSocket. */
  readonly address: string
  readonly identity: TunnelIdentity
  /** Serves a lane that the cell has opened. */
  readonly serve: (lane: Duplex, kind: LaneKind) => void
}

export interface RedeemOptions {
  /** Host and port of the cell's redemptions, or the URL of a WebSocket. */
  readonly address: string
  /** SHA-256 of the authority's SPKI, hex: verified before the token is sent. */
  readonly pin: string
  readonly token: Redacted.Redacted
  readonly requestPem: string
}

/** The outpost's side. */
export class TunnelDialler extends Context.Service<
  TunnelDialler,
  {
    /** Dials a tunnel, which ends with the scope. */
    readonly dial: (options: DialOptions) => Effect.Effect<Tunnel, DialFailed, Scope.Scope>
    readonly redeem: (options: RedeemOptions) => Effect.Effect<Redeemed, DialFailed>
  }
>()("braid/ports/TunnelDialler") {}

/**
 * The port by which a primary reaches members that dial out, through the tunnels of their operators.
 *
 * Not here: the tunnels (tunnel.ts), and which of a member's is used (app/outbound).
 */

import type { Duplex } from "node:stream"
import { Context, Effect, type Scope } from "effect"
import type { ClusterName } from "../domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../domain/fleet/configuration.ts"
import type { ClusterAccess } from "./cluster-connector.ts"

/** A member that dials out. While its operator has no tunnel here, requests and links fail with the reason. */
export interface OutboundAccess extends ClusterAccess {
  /** When the certificate of its tunnel ends, epoch ms; `undefined` while there is no tunnel. */
  readonly until: () => number | undefined
  /** Since when its tunnel is used, epoch ms; `undefined` while there is no tunnel. */
  readonly since: () => number | undefined
}

/** Makes accesses to members whose `auth` is `Outbound`. The failure is a clause: why this program takes no tunnels. */
export type ConnectOutbound = (configuration: MemberConfiguration) => Effect.Effect<OutboundAccess, string, Scope.Scope>

/** A program that provides nothing takes no tunnels. */
export const OutboundConnector = Context.Reference<ConnectOutbound>("braid/ports/OutboundConnector", {
  defaultValue: () => () =>
    Effect.fail("its operator dials this one, which takes no tunnels; set operator.cell.enabled in the chart's values")
})

/** A person who wants to reach a member. */
export interface PersonalLane {
  readonly cluster: ClusterName
  readonly user: string
  /** Whether the request wants to leave HTTP. */
  readonly isUpgrade: boolean
}

/** Opens a lane for one request of a person; it counts until it is closed. The failure is a sentence. */
export type OpenPersonalLane = (wanted: PersonalLane) => Effect.Effect<Duplex, string>

/** A program that provides nothing takes no tunnels. */
export const PersonalLanes = Context.Reference<OpenPersonalLane>("braid/ports/PersonalLanes", {
  defaultValue: () => () =>
    Effect.fail("This operator takes no tunnels; set operator.cell.enabled in the values of the primary's release.")
})

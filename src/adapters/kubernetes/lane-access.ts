/**
 * Reaches a member that dials out over the lanes of its tunnel: the access of a member that cannot be dialled.
 *
 * Not here: the tunnel itself (adapters/tunnel), and credentials, which the member's operator adds (serve-lanes.ts).
 */

import { KubeConfig } from "@kubernetes/client-node"
import { Effect, type Scope } from "effect"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { ClusterAccess } from "../../ports/cluster-connector.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { LinkRefused, LinkRequest } from "../../ports/member-link.ts"
import { defaultTimes, makeApiServer } from "./api-server.ts"
import type { OpenLane } from "./connections.ts"
import { kubeApiOf } from "./kube-api-http.ts"

/** Opens a link over a lane. The `websocket` adapter implements it; the wiring passes it in. */
export type OpenLaneLink = (
  openLane: OpenLane,
  request: LinkRequest,
  userAgent: string
) => Effect.Effect<FrameChannel, LinkRefused>

/** A configuration without credentials. Its address is never dialled. */
const laneConfig = (): KubeConfig => {
  const config = new KubeConfig()
  config.loadFromOptions({
    // Client-node has no other word for an address without TLS, which the tunnel has around it.
    clusters: [{ name: "member", server: "http://member", skipTLSVerify: true }],
    users: [{ name: "primary" }],
    contexts: [{ name: "member", cluster: "member", user: "primary" }],
    currentContext: "member"
  })
  return config
}

/** The access to the member `name`. `userAgent`: the name in which requests are sent. */
export const makeLaneAccess = (
  name: ClusterName,
  openLane: OpenLane,
  openLink: OpenLaneLink,
  userAgent: string
): Effect.Effect<ClusterAccess, never, Scope.Scope> =>
  Effect.map(makeApiServer(laneConfig(), defaultTimes, userAgent, openLane), (server) => ({
    api: kubeApiOf(server, name),
    link: (request) => openLink(openLane, request, userAgent)
  }))

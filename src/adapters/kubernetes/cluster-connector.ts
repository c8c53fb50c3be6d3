/**
 * Reaches clusters over HTTP and WebSocket, with client-node's configurations: implements the port `ClusterConnector`.
 * Links are opened by the websocket adapter, which is passed in.
 */

import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Redacted, type Scope } from "effect"
import type { MemberConfiguration } from "../../domain/fleet/configuration.ts"
import { encodeBase64Text } from "../../domain/fleet/credentials/base64.ts"
import type { MemberCredentials } from "../../domain/fleet/credentials/member-credentials.ts"
import type { ClusterAccess, ClusterConnector } from "../../ports/cluster-connector.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { LinkRefused, LinkRequest } from "../../ports/member-link.ts"
import { defaultTimes } from "./api-server.ts"
import { makeKubeApi } from "./kube-api-http.ts"
import { withProxies } from "./proxies.ts"

/**
 * Opens a link with the credentials of a configuration, in the name of `userAgent`. The `websocket` adapter implements
 * it; the wiring passes it in, because adapters do not import each other.
 */
export type OpenLink = (
  config: KubeConfig,
  request: LinkRequest,
  userAgent: string | undefined
) => Effect.Effect<FrameChannel, LinkRefused>

/** Writes a member's address and credentials into a configuration, in place of what it had. */
const configure = (config: KubeConfig, member: MemberConfiguration, credentials: MemberCredentials): void => {
  const user =
    credentials._tag === "BearerToken"
      ? { name: "primary", token: Redacted.value(credentials.token) }
      : {
          name: "primary",
          certData: encodeBase64Text(credentials.certificatePem),
          keyData: encodeBase64Text(Redacted.value(credentials.keyPem))
        }
  config.loadFromOptions({
    clusters: [
      {
        name: member.name,
        server: member.server,
        ...(member.certificateAuthority === undefined ? {} : { caData: encodeBase64Text(member.certificateAuthority) })
      }
    ],
    users: [user],
    contexts: [{ name: member.name, cluster: member.name, user: "primary" }],
    currentContext: member.name
  })
  withProxies(config)
}

/** The configuration of a member as `@kubernetes/client-node` wants it. */
export const memberConfig = (member: MemberConfiguration, credentials: MemberCredentials): KubeConfig => {
  const config = new KubeConfig()
  configure(config, member, credentials)
  return config
}

/**
 * Accesses to clusters. `ownConfig`: the operator's own configuration, in-cluster or of a kubeconfig. `userAgent`: the
 * name in which requests are sent.
 */
export const makeClusterConnector = (
  ownConfig: KubeConfig,
  ownName: string,
  openLink: OpenLink,
  userAgent?: string
): Effect.Effect<ClusterConnector["Service"], never, Scope.Scope> => {
  const access = (config: KubeConfig, name: string): Effect.Effect<ClusterAccess, never, Scope.Scope> =>
    Effect.map(makeKubeApi(config, name, defaultTimes, userAgent), (api) => ({
      api,
      link: (request) => openLink(config, request, userAgent)
    }))
  return Effect.map(access(ownConfig, ownName), (own) => ({
    own,
    member: (configuration, credentials) => {
      const config = memberConfig(configuration, credentials)
      return Effect.map(access(config, configuration.name), (member) => ({
        ...member,
        // The configuration is read for each request and each link.
        reauthenticate: (next) => configure(config, configuration, next)
      }))
    }
  }))
}

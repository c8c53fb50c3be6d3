import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { clusterName, credentialsSecretName } from "../../src/domain/fleet/cluster-name.ts"
import { clusterObject, type ServedCluster } from "../../src/domain/fleet/cluster-object.ts"
import type { FleetConfiguration } from "../../src/domain/fleet/configuration.ts"
import { credentialsLabel } from "../../src/domain/fleet/credentials/cluster-auth.ts"
import { kubeconfigKey, type ProvidedCluster } from "../../src/domain/fleet/provided-clusters.ts"
import { secrets } from "../../src/domain/resources/core-kinds.ts"
import { defaultBounds } from "../../src/domain/sessions/session-bounds.ts"
import { protectedNamespaces } from "../../src/domain/targets/protected-namespaces.ts"
import type { MemoryKubeApi } from "./memory-kube-api.ts"

export const operatorNamespace = "mirrord"

/** The limits of an operator unless a test is about them. Agents are in the operator's namespace. */
export const defaultLimits = {
  bounds: defaultBounds,
  maxSessionSecs: undefined as number | undefined,
  podlessMillis: undefined as number | undefined,
  protectedNamespaces: protectedNamespaces({ operator: operatorNamespace, agents: operatorNamespace, allowed: [] })
}

/** A primary that only manages, and members by bearer token; the first is the default. */
export const configurationOf = (
  members: ReadonlyArray<string>,
  more: Partial<FleetConfiguration> = {}
): FleetConfiguration => ({
  clusterName: clusterName("primary"),
  managementOnly: true,
  defaultCluster: clusterName(members[0] ?? ""),
  sessionStart: "default",
  remoteSessionTimeoutSecs: 300,
  sessionTtlSecs: 60,
  members: members.map((name) => ({
    name: clusterName(name),
    server: `https://${name}`,
    namespace: undefined,
    certificateAuthority: undefined,
    auth: { _tag: "BearerToken" },
    problems: []
  })),
  ...more
})

/** The Secret with which a primary reaches a member. `end`: of the Secret's name. */
export const giveCredentials = (primary: MemoryKubeApi, cluster: string, token = "token", end = ""): void => {
  primary.write(
    secrets,
    credentialsSecretName(clusterName(cluster), sha256Hex) + end,
    {
      metadata: { labels: { [credentialsLabel]: "true" } },
      data: { bearerToken: Buffer.from(token).toString("base64") }
    },
    operatorNamespace
  )
}

/** A cluster as a primary serves it. */
export const servedCluster = (name: string): ServedCluster =>
  clusterObject(
    {
      name: clusterName(name),
      roles: [],
      authType: "bearerToken",
      readiness: { _tag: "Connected" },
      since: 0,
      operatorVersion: "3.250.0",
      checkedAt: 0,
      expiresAt: undefined,
      ending: undefined,
      sessions: 0
    },
    0
  )

/** A cluster that was found by the Secret of its name. */
export const foundCluster = (name: string): ProvidedCluster => ({
  from: `Secret ${operatorNamespace}/${name}`,
  name,
  member: {
    server: `https://${name}`,
    namespace: undefined,
    certificateAuthority: undefined,
    auth: {
      _tag: "Kubeconfig",
      place: { _tag: "Secret", name, namespace: operatorNamespace, key: kubeconfigKey },
      fingerprint: "f"
    },
    problems: []
  }
})

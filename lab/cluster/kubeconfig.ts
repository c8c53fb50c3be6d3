/**
 * Writes kubeconfigs that need no other file: one cluster, one user with a client certificate, one context. Reading a
 * kubeconfig is the operator's part (`src`).
 */

import { stringify } from "yaml"
import { encodeBase64Text } from "../../src/domain/fleet/credentials/base64.ts"
import type { KeyPair } from "./http/pki.ts"

export const kubeconfigYaml = (options: {
  readonly cluster: string
  readonly server: string
  readonly caPem: string
  readonly user: string
  readonly credentials: KeyPair
}): string =>
  stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        {
          name: options.cluster,
          cluster: { server: options.server, "certificate-authority-data": encodeBase64Text(options.caPem) }
        }
      ],
      users: [
        {
          name: options.user,
          user: {
            "client-certificate-data": encodeBase64Text(options.credentials.certPem),
            "client-key-data": encodeBase64Text(options.credentials.keyPem)
          }
        }
      ],
      contexts: [
        { name: options.cluster, context: { cluster: options.cluster, user: options.user, namespace: "default" } }
      ],
      "current-context": options.cluster
    },
    { lineWidth: 0 }
  )

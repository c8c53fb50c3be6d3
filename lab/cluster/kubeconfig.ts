/**
 * Writes kubeconfigs that need no other file: one cluster, one user with a client certificate, one context. Reading a
 * kubeconfig is the operator's part (`src`).
 */

import { stringify } from "yaml"
import type { KeyPair } from "./http/pki.ts"

const base64 = (text: string): string => Buffer.from(text).toString("base64")

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
          cluster: { server: options.server, "certificate-authority-data": base64(options.caPem) }
        }
      ],
      users: [
        {
          name: options.user,
          user: {
            "client-certificate-data": base64(options.credentials.certPem),
            "client-key-data": base64(options.credentials.keyPem)
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

/**
 * The TLS contexts of links, one for all links of a cluster: each holds the authorities and keys once more, which is
 * most of the memory of an idle link.
 *
 * Not here: the credentials themselves, which the KubeConfig renews.
 */

import type { RequestOptions } from "node:https"
import { createSecureContext, type SecureContext } from "node:tls"
import type { KubeConfig } from "@kubernetes/client-node"

interface Shared {
  readonly made: ReadonlyArray<string>
  readonly context: SecureContext
}

const contexts = new WeakMap<KubeConfig, Shared>()

/** The TLS options of a connection, with a shared context in place of certificates and keys. Throws what they throw. */
export const withSharedContext = (
  config: KubeConfig,
  options: RequestOptions
): RequestOptions & { readonly secureContext: SecureContext } => {
  const { ca, cert, key, passphrase, pfx, ...others } = options
  const made = [ca, cert, key, pfx, passphrase].map(String)
  let shared = contexts.get(config)
  if (shared === undefined || made.some((part, at) => part !== shared?.made[at])) {
    shared = { made, context: createSecureContext({ ca, cert, key, passphrase, pfx }) }
    contexts.set(config, shared)
  }
  return { ...others, secureContext: shared.context }
}

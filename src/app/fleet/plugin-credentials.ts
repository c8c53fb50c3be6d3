/**
 * Makes the credentials for a cluster that a plugin gives, and dates their end by this operator's clock.
 *
 * Not here: running plugins (ports/exec-plugin.ts), and what they say (domain/fleet/credentials/exec-credential.ts).
 */

import { Clock, Effect, Redacted, Result, Semaphore } from "effect"
import { readClientPair } from "../../adapters/x509/client-certificate.ts"
import type { AccessProvider } from "../../domain/fleet/access-providers.ts"
import type { ExecAuth } from "../../domain/fleet/credentials/cluster-auth.ts"
import {
  type ExecCredential,
  execFailureClause,
  execInfo,
  readExecCredential
} from "../../domain/fleet/credentials/exec-credential.ts"
import { momentText } from "../../domain/fleet/credentials/validity.ts"
import type { CredentialCluster, MakeCredentials, NewCredentials } from "../../ports/credential-maker.ts"
import type { RunPlugin } from "../../ports/exec-plugin.ts"

/** So many plugins run at once. */
const maxRunning = 8

export interface Plugins {
  readonly providers: ReadonlyArray<AccessProvider>
  readonly run: RunPlugin
  /** The time by a cluster's API server, epoch ms; undefined if it does not say. */
  readonly serverTime: (
    cluster: Pick<CredentialCluster, "certificateAuthority" | "server">
  ) => Effect.Effect<number | undefined>
}

/** The end that the certificate itself has, if it can be used at all. */
const certificateEnd = ({ credentials }: ExecCredential): Result.Result<number | undefined, string> => {
  if (credentials._tag === "BearerToken") return Result.succeed(undefined)
  const { certificatePem, keyPem } = credentials
  const fields = { certificate: "status.clientCertificateData", key: "status.clientKeyData" }
  return Result.map(readClientPair({ certificatePem, keyPem: Redacted.value(keyPem) }, fields), ({ until }) => until)
}

const askPlugin = Effect.fnUntraced(function* (
  { run, serverTime }: Plugins,
  cluster: CredentialCluster & { readonly auth: ExecAuth },
  { execConfig }: AccessProvider
): Effect.fn.Return<NewCredentials, string> {
  const { auth, certificateAuthority, server } = cluster
  const told = { server, certificateAuthority, config: auth.config }
  const info = execInfo(execConfig.apiVersion, execConfig.provideClusterInfo ? told : undefined)
  const text = yield* Effect.mapError(run(execConfig, info), execFailureClause)
  const theirs = yield* serverTime(cluster)
  const now = yield* Clock.currentTimeMillis
  const skew = (theirs ?? now) - now
  const given = yield* Effect.fromResult(readExecCredential(text, execConfig.apiVersion, now + skew))
  const ownEnd = yield* Effect.fromResult(certificateEnd(given))
  if (ownEnd !== undefined && ownEnd <= now + skew)
    return yield* Effect.fail(`its certificate ended already at ${momentText(ownEnd)}, by the cluster's clock`)
  const until = Math.min(given.until ?? Infinity, ownEnd ?? Infinity) - skew
  return { credentials: given.credentials, until }
})

/** Makes credentials by plugins. The failure names the provider and its program, then cause and cure. */
export const makePluginCredentials = (
  plugins: Plugins
): ((cluster: CredentialCluster & { readonly auth: ExecAuth }) => ReturnType<MakeCredentials>) => {
  const running = Semaphore.makeUnsafe(maxRunning)
  return (cluster) => {
    const { provider: name } = cluster.auth
    const provider = plugins.providers.find((one) => one.name === name)
    if (provider === undefined)
      return Effect.fail(`no access provider is called ${name}; name it in operator.multiCluster.accessProviders`)
    return running
      .withPermits(1)(askPlugin(plugins, cluster, provider))
      .pipe(
        Effect.mapError((problem) => `plugin ${provider.execConfig.command} of access provider ${name}: ${problem}`)
      )
  }
}

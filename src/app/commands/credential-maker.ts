/**
 * All ways to make credentials that this process may have: its identities in clouds, each of which loads its SDK with
 * the first token that is made there, and plugins.
 */

import { Effect } from "effect"
import { makeEksTokens } from "../../adapters/aws/eks-tokens.ts"
import { serverTime } from "../../adapters/aws/server-time.ts"
import { makeAksTokens } from "../../adapters/azure/aks-tokens.ts"
import { runPlugin } from "../../adapters/exec-plugin/run-plugin.ts"
import type { AccessProvider } from "../../domain/fleet/access-providers.ts"
import type { CloudToken } from "../../ports/cloud-tokens.ts"
import type { MakeCredentials, NewCredentials } from "../../ports/credential-maker.ts"
import { makePluginCredentials } from "../fleet/plugin-credentials.ts"

const bearer = ({ token, until }: CloudToken): NewCredentials => ({
  credentials: { _tag: "BearerToken", token },
  until
})

export const makeCredentialMaker = (providers: ReadonlyArray<AccessProvider>): MakeCredentials => {
  const [eks, aks] = [makeEksTokens(), makeAksTokens()]
  const plugin = makePluginCredentials({ providers, run: runPlugin, serverTime })
  return ({ auth, ...cluster }) => {
    switch (auth._tag) {
      case "Eks":
        return Effect.map(eks({ ...cluster, auth }), bearer)
      case "Aks":
        return Effect.map(aks({ ...cluster, auth }), bearer)
      case "ExecPlugin":
        return plugin({ ...cluster, auth })
    }
  }
}

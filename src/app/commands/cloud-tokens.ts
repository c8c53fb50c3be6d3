/**
 * The clouds in which this process may have an identity. Each loads its SDK with the first token that is made there.
 */

import { makeEksTokens } from "../../adapters/aws/eks-tokens.ts"
import { makeAksTokens } from "../../adapters/azure/aks-tokens.ts"
import type { MakeCloudToken } from "../../ports/cloud-tokens.ts"

export const makeCloudTokens = (): MakeCloudToken => {
  const [eks, aks] = [makeEksTokens(), makeAksTokens()]
  return ({ auth, ...cluster }) => (auth._tag === "Eks" ? eks({ ...cluster, auth }) : aks({ ...cluster, auth }))
}

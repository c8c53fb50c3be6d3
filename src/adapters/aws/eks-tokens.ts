/**
 * Makes tokens for EKS clusters, as `aws eks get-token` does: implements `MakeCloudToken`.
 *
 * Not here: finding an AWS identity and signing, which the AWS SDK does (identity.ts).
 */

import { Clock, Effect, Redacted } from "effect"
import type { EksAuth } from "../../domain/fleet/credentials/cluster-auth.ts"
import { eksFailure } from "../../domain/fleet/credentials/eks-failure.ts"
import { eksTokenDate, eksTokenEnd } from "../../domain/fleet/credentials/eks-token.ts"
import type { MakeCloudToken } from "../../ports/cloud-tokens.ts"
import { identityProblem } from "./identity-problem.ts"
import { serverTime } from "./server-time.ts"

/** How long making a token may take. */
const patience = "30 seconds"

const encode = (url: string): string => `k8s-aws-v1.${Buffer.from(url).toString("base64url")}`

type Presign = ReturnType<typeof import("./identity.ts").identityPresigner>

const loadPresigner = (): Promise<Presign> =>
  import("./identity.ts").then(({ identityPresigner }) => identityPresigner())

/** Tokens by one AWS identity, that of this process. The SDK is loaded with the first of them. */
export const makeEksTokens = (timeOf = serverTime, presigner = loadPresigner): MakeCloudToken<EksAuth> => {
  // Begun again after a failure: the SDK would wait for an answer that never comes, and give the same reason for ever.
  let loading: Promise<Presign> | undefined
  const load = () => (loading ??= presigner())
  return (cluster) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const date = yield* Effect.fromResult(eksTokenDate(now, yield* timeOf(cluster)))
      const { identityEnds, url } = yield* Effect.tryPromise({
        try: async () => {
          const { auth, isRefused: isRenewed = false, name: clusterName } = cluster
          return (await load())({ clusterName, region: auth.region ?? "", date, isRenewed })
        },
        catch: identityProblem
      }).pipe(Effect.onError(() => Effect.sync(() => void (loading = undefined))))
      return {
        token: Redacted.make(encode(url)),
        until: eksTokenEnd(now, identityEnds === undefined ? undefined : identityEnds - date + now)
      }
    }).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => Effect.fail(eksFailure({ name: "TimeoutError", message: `it was not found within ${patience}` }))
      })
    )
}

import { Effect } from "effect"
import { subjectAccessReviews } from "../../src/domain/resources/core-kinds.ts"
import { MemoryKubeApi } from "./memory-kube-api.ts"

interface Review {
  readonly user: string
  readonly resourceAttributes: { readonly resource: string }
}

/**
 * An API server in memory that allows everybody everything, but for users named `stranger`, and for users named
 * `orderer`, who may not connect to targets.
 */
export const reviewedApi = (cluster: string): MemoryKubeApi => {
  const api = new MemoryKubeApi(cluster)
  const { create } = api
  return Object.assign(api, {
    create: ((ref, object, namespace) => {
      if (ref.plural !== subjectAccessReviews.plural) return create(ref, object, namespace)
      const { resourceAttributes, user } = (object as { readonly spec: Review }).spec
      const allowed = user !== "stranger" && (user !== "orderer" || resourceAttributes.resource !== "targets")
      return Effect.succeed({ metadata: { name: "" }, status: { allowed } })
    }) satisfies MemoryKubeApi["create"]
  })
}

import { Effect } from "effect"
import { subjectAccessReviews } from "../../src/domain/resources/core-kinds.ts"
import { MemoryKubeApi } from "./memory-kube-api.ts"

/** An API server in memory that allows everybody everything, but for users named `stranger`. */
export const reviewedApi = (cluster: string): MemoryKubeApi => {
  const api = new MemoryKubeApi(cluster)
  const { create } = api
  return Object.assign(api, {
    create: ((ref, object, namespace) => {
      if (ref.plural !== subjectAccessReviews.plural) return create(ref, object, namespace)
      const { spec } = object as { readonly spec: { readonly user: string } }
      return Effect.succeed({ metadata: { name: "" }, status: { allowed: spec.user !== "stranger" } })
    }) satisfies MemoryKubeApi["create"]
  })
}

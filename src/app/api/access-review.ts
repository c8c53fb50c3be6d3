/**
 * Asks the API server what a caller may do. The caller is identified in caller.ts.
 */

import { Effect, Result } from "effect"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import { subjectAccessReviews } from "../../domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../domain/resources/mirrord-cluster-session.ts"
import { apiVersionOf, readResource } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { type ApiError, internalError } from "./status.ts"

/** An act that a user asks for, as the API server's authorizers see it. */
export interface Deed {
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly verb: string
  readonly namespace?: string
  readonly name?: string
}

/**
 * Asks the API server for a right that it could not check itself (docs/concepts/decisions.md, "What the API server has
 * checked, and what we ask it").
 */
export const mayDo = (
  api: KubeApi,
  { extra, groups, uid, user }: Caller,
  deed: Deed
): Effect.Effect<boolean, ApiError> =>
  api
    .create(subjectAccessReviews, {
      apiVersion: apiVersionOf(subjectAccessReviews),
      kind: subjectAccessReviews.kind,
      spec: { user, ...(uid === undefined ? {} : { uid }), groups, extra, resourceAttributes: deed }
    })
    .pipe(
      Effect.mapError((error) => internalError(`The caller's permissions cannot be looked up: ${error.detail}.`)),
      Effect.map((review) => {
        const answer = readResource(subjectAccessReviews, review)
        return Result.isSuccess(answer) && answer.success.status.allowed
      })
    )

/** Whether the caller may drive sessions here, as a primary's identity may (docs/concepts/member-link.md). */
export const mayDriveSessions = (api: KubeApi, caller: Caller): Effect.Effect<boolean, ApiError> =>
  mayDo(api, caller, { group: mirrordClusterSessions.group, resource: mirrordClusterSessions.plural, verb: "create" })

/**
 * Reads, writes and removes the webhook of a split.
 *
 * Not here: what it says (domain/queues/pod-webhook.ts), and when it has to be there (domain/queues/split-plan.ts).
 */

import { Effect } from "effect"
import { encodeBase64Text } from "../../domain/fleet/credentials/base64.ts"
import type { ObservedSplit } from "../../domain/queues/observed-split.ts"
import { isCurrentWebhook, type PodWebhook, type WebhookClient } from "../../domain/queues/pod-webhook.ts"
import { apiServices, clusterRoles, mutatingWebhookConfigurations } from "../../domain/resources/core-kinds.ts"
import { operatorApiService } from "../../domain/resources/operator-api.ts"
import { apiVersionOf, readResource } from "../../domain/resources/resource-descriptor.ts"
import { type KubeApi, KubeError } from "../../ports/kube-api.ts"
import { orIf } from "../kernel/or-if.ts"

/** The chart makes it, and with the chart it goes. */
const ownClusterRole = "mirrord-operator"

/** The port of a Service that an APIService does not name. */
const defaultPort = 443

/** Owner of all webhooks; `undefined` where the chart does not let the operator see it. */
const readOwner = (api: KubeApi): Effect.Effect<WebhookClient["owner"], KubeError> =>
  api.get(clusterRoles, ownClusterRole).pipe(
    Effect.map(({ metadata: { name, uid } }) =>
      uid === undefined ? undefined : { apiVersion: apiVersionOf(clusterRoles), kind: clusterRoles.kind, name, uid }
    ),
    orIf("NotFound", Effect.undefined),
    orIf("Forbidden", Effect.undefined)
  )

/**
 * How API servers reach the operator: as they do for its API. Where they are told to take any certificate there, which
 * a webhook cannot say, they are given the one that is served. `servedAuthority`: PEM of that.
 */
export const webhookClient = Effect.fnUntraced(function* (
  api: KubeApi,
  servedAuthority: () => string | undefined
): Effect.fn.Return<WebhookClient, KubeError> {
  const unusable = (detail: string) =>
    new KubeError({
      cluster: api.cluster,
      operation: `read APIService ${operatorApiService} for the webhook of a queue split`,
      reason: "Invalid",
      detail
    })
  const object = yield* api.get(apiServices, operatorApiService)
  const { spec } = yield* Effect.mapError(Effect.fromResult(readResource(apiServices, object)), ({ message }) =>
    unusable(message)
  )
  const { name, namespace, port } = spec.service
  const caBundle = (spec.caBundle ?? "") || encodeBase64Text(servedAuthority() ?? "")
  if (caBundle === "") {
    return yield* unusable(
      "it has no caBundle, and the operator serves no certificate that API servers could know it by; set the chart's " +
        "value tls.apiService.caBundle, or leave the certificate to the operator"
    )
  }
  return { service: { name, namespace, port: port ?? defaultPort }, caBundle, owner: yield* readOwner(api) }
})

/** Whether the webhook of a workload is as it has to be. `wanted`: `undefined` if it has to be none. */
export const webhookState = (
  api: KubeApi,
  name: string,
  wanted: PodWebhook | undefined
): Effect.Effect<ObservedSplit["webhook"], KubeError> =>
  api.get(mutatingWebhookConfigurations, name).pipe(
    Effect.map((found) => (wanted !== undefined && isCurrentWebhook(found, wanted) ? "Current" : "Other")),
    orIf("NotFound", Effect.succeed("Absent" as const))
  )

/** Repeats once what another writer was in the way of. */
const again = <A>(call: Effect.Effect<A, KubeError>): Effect.Effect<A, KubeError> =>
  Effect.retry(call, { times: 1, while: ({ reason }) => reason === "Conflict" || reason === "AlreadyExists" })

/** Creates the webhook, or gives it the values that it has to have. Done twice, it does the same as once. */
export const putWebhook = (api: KubeApi, wanted: PodWebhook): Effect.Effect<void, KubeError> => {
  const { metadata, webhooks } = wanted
  // A merge patch replaces lists as a whole.
  const change = api.mergePatch(mutatingWebhookConfigurations, metadata.name, { metadata, webhooks })
  const create = api.create(mutatingWebhookConfigurations, wanted)
  return Effect.asVoid(again(change.pipe(orIf("NotFound", create))))
}

/** Removes the webhook of a workload; one that is gone is a success. */
export const removeWebhook = (api: KubeApi, name: string): Effect.Effect<void, KubeError> =>
  again(api.delete(mutatingWebhookConfigurations, name).pipe(orIf("NotFound", Effect.void)))

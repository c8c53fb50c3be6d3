/**
 * The webhook of a split: with it the API server asks the operator about each new pod that has the workload's labels.
 *
 * Not here: the answers (pod-review.ts), and writing the object (app/queues/split-webhook.ts).
 */

import { withoutEnd } from "../clean-text.ts"
import { asArray, at, isObject, jsonEqual } from "../json.ts"
import type { StoredObject } from "../resources/kept-fields.ts"
import type { OwnerReference } from "../resources/object-meta.ts"
import { splitPodsPath } from "../resources/operator-api.ts"
import type { LabelSelector } from "../resources/policies/label-selector.ts"
import { ownerLabel } from "../sessions/names.ts"
import type { PatchedWorkload } from "./pod-of-workload.ts"

/** How API servers reach the operator, and by which certificates they know it. */
export interface WebhookClient {
  readonly service: { readonly name: string; readonly namespace: string; readonly port: number }
  /** Base64 of PEM. */
  readonly caBundle: string
  /** With it the webhook is deleted; `undefined` if it is not known. */
  readonly owner: OwnerReference | undefined
}

/** A MutatingWebhookConfiguration with all fields that count. */
export interface PodWebhook {
  readonly apiVersion: "admissionregistration.k8s.io/v1"
  readonly kind: "MutatingWebhookConfiguration"
  readonly metadata: {
    readonly name: string
    readonly labels: typeof ownerLabel
    readonly ownerReferences?: ReadonlyArray<OwnerReference>
  }
  readonly webhooks: readonly [Readonly<Record<string, unknown>>]
}

/** Longest name of an object. */
const maxName = 253

/**
 * The name of the webhook for a workload's pods. It goes by the workload and not by the split, so that a workload never
 * has two, and the one of a split whose record is lost is found. `sha256Hex`: lower-case hex of the digest of a text.
 */
export const podWebhookName = (
  { kind, name, namespace }: PatchedWorkload,
  sha256Hex: (text: string) => string
): string => {
  const digits = sha256Hex([kind, namespace, name].join("\n")).slice(0, 10)
  return withoutEnd(`mirrord-queues-${digits}-${namespace}-${name}`.slice(0, maxName), "-.")
}

/** A selector as API servers keep it, which leave out what is empty. */
const plainSelector = ({ matchExpressions, matchLabels }: LabelSelector): object => ({
  ...(Object.keys(matchLabels ?? {}).length === 0 ? {} : { matchLabels }),
  ...((matchExpressions ?? []).length === 0
    ? {}
    : {
        matchExpressions: matchExpressions?.map(({ key, operator, values }) => ({
          key,
          operator,
          ...((values ?? []).length === 0 ? {} : { values })
        }))
      })
})

/** The split of a webhook, its workload, and the operator that answers. */
export interface PodWebhookOptions {
  /** {@link podWebhookName}. */
  readonly name: string
  /** `SplitRecord.uid`. */
  readonly split: string
  /** Of the workload. */
  readonly namespace: string
  /** The workload's `spec.selector`; an empty one selects all pods of the namespace. */
  readonly selector: LabelSelector
  readonly client: WebhookClient
}

/** The webhook of a split. */
export const podWebhook = ({ client, name, namespace, selector, split }: PodWebhookOptions): PodWebhook => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "MutatingWebhookConfiguration",
  metadata: {
    name,
    labels: ownerLabel,
    ...(client.owner === undefined ? {} : { ownerReferences: [client.owner] })
  },
  webhooks: [
    {
      name: "split-pods.operator.metalbear.co",
      clientConfig: { service: { ...client.service, path: `${splitPodsPath}/${split}` }, caBundle: client.caBundle },
      rules: [
        { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"], scope: "Namespaced" }
      ],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      objectSelector: plainSelector(selector),
      // An operator that is away must not keep the workload from starting. Pods without the names are replaced later.
      failurePolicy: "Ignore",
      // So long an operator that is away may hold a pod up. The server ends such connections after as long anyway.
      timeoutSeconds: 5,
      matchPolicy: "Equivalent",
      // Another webhook that comes later may add the containers' variables.
      reinvocationPolicy: "IfNeeded",
      sideEffects: "None",
      admissionReviewVersions: ["v1"]
    }
  ]
})

/**
 * Whether an object of an API server is as it has to be: with one webhook that has all fields of the wanted one, and no
 * conditions, by which it would select fewer pods. API servers add defaults to the fields that are not named here.
 */
export const isCurrentWebhook = (found: StoredObject, { metadata, webhooks: [wanted] }: PodWebhook): boolean => {
  const [webhook, ...others] = asArray(found["webhooks"])
  return (
    others.length === 0 &&
    isObject(webhook) &&
    Object.entries({ ...wanted, matchConditions: undefined }).every(([field, value]) =>
      jsonEqual(webhook[field], value)
    ) &&
    (metadata.ownerReferences === undefined ||
      jsonEqual(at(found, "metadata", "ownerReferences"), metadata.ownerReferences))
  )
}

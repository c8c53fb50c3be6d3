/** The user and the target of a session, as several kinds hold them. */

import * as Schema from "effect/Schema"
import { textLimits } from "../clean-text.ts"
import { shortText } from "./field-schemas.ts"

/** The user of a session (operator-api.md §4.5). */
export const SessionOwner = Schema.Struct({
  userId: shortText(
    textLimits.name,
    "Public key of the user's certificate: standard base64 of its 32 bytes, unpadded."
  ),
  username: shortText(textLimits.name, "Name of the user on the client's machine."),
  hostname: shortText(textLimits.name, "Name of the client's machine."),
  k8sUsername: shortText(textLimits.name, "User that the cluster authenticated.")
}).annotate({ description: "Who asked for the session." })
export type SessionOwner = typeof SessionOwner.Type

/** A reference to an object of any kind. */
export const objectReference = {
  apiVersion: shortText(textLimits.name, "For example `apps/v1`."),
  kind: shortText(textLimits.name, "For example `Deployment`."),
  name: shortText(textLimits.name, "Name of the object.")
}

/** The workload of a session (operator-api.md §4.6). `container` is empty when the client named none. */
export const KubeResourceTarget = Schema.Struct({
  ...objectReference,
  container: shortText(textLimits.name, "Name of the container; empty: chosen by the operator.")
}).annotate({ description: "The workload whose traffic and context the session uses." })
export type KubeResourceTarget = typeof KubeResourceTarget.Type

/** The target of a session in one cluster: a workload, or labels of pods in the same form (kube-target.ts). */
export const SessionTarget = Schema.Struct({
  ...KubeResourceTarget.fields,
  name: shortText(textLimits.targetName, "Name of the object; of kind `LabelSelector`: the labels as `key=value,…`.")
}).annotate({ description: "The workload, or the labels of the pods, that the session uses." })

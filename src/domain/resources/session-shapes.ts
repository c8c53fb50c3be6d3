/** The user and the target of a session, as several kinds hold them. */

import * as Schema from "effect/Schema"
import { text } from "./field-schemas.ts"

/** The user of a session (operator-api.md §4.5). */
export const SessionOwner = Schema.Struct({
  userId: text("Public key of the user's certificate: standard base64 of its 32 bytes, unpadded."),
  username: text("Name of the user on the client's machine."),
  hostname: text("Name of the client's machine."),
  k8sUsername: text("User that the cluster authenticated.")
}).annotate({ description: "Who asked for the session." })
export type SessionOwner = typeof SessionOwner.Type

/** A reference to an object of any kind. */
export const objectReference = {
  apiVersion: text("For example `apps/v1`."),
  kind: text("For example `Deployment`."),
  name: text("Name of the object.")
}

/** The workload of a session (operator-api.md §4.6). `container` is empty when the client named none. */
export const KubeResourceTarget = Schema.Struct({
  ...objectReference,
  container: text("Name of the container; empty: chosen by the operator.")
}).annotate({ description: "The workload whose traffic and context the session uses." })
export type KubeResourceTarget = typeof KubeResourceTarget.Type

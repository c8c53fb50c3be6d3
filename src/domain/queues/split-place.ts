/**
 * The workload of a split as objects and keys name it.
 *
 * Not here: the session's container (chosen-configuration.ts).
 */

import * as Schema from "effect/Schema"
import { apiVersionOf } from "../resources/resource-descriptor.ts"
import { kindAddress, targetKinds } from "../targets/target.ts"

/** A workload whose queues are split in one cluster. */
export const SplitPlace = Schema.Struct({
  namespace: Schema.String,
  kind: Schema.Literals(targetKinds),
  name: Schema.String
})
export type SplitPlace = typeof SplitPlace.Type

/** A reference as the published kinds have it. */
export interface WorkloadReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
}

export const splitKey = ({ kind, name, namespace }: SplitPlace): string => `${namespace}/${kind}/${name}`

/** The workload of a key; `undefined` for other texts. */
export const placeOfKey = (key: string): SplitPlace | undefined => {
  const [namespace, word, name] = key.split("/")
  const kind = targetKinds.find((one) => one === word)
  return namespace === undefined || kind === undefined || name === undefined ? undefined : { namespace, kind, name }
}

export const referenceOf = ({ kind, name }: SplitPlace): WorkloadReference => {
  const address = kindAddress(kind)
  return { apiVersion: apiVersionOf(address), kind: address.kind, name }
}

/** The workload of a reference; `undefined` for kinds that are no target. The version of the API does not matter. */
export const placeOf = (namespace: string, { kind: word, name }: WorkloadReference): SplitPlace | undefined => {
  const kind = targetKinds.find((one) => kindAddress(one).kind === word)
  return kind === undefined ? undefined : { namespace, kind, name }
}

/** Reads several objects of a cluster by their names, each once. */

import { Effect } from "effect"
import { quotation, quoted } from "../../domain/clean-text.ts"
import type { KubeApi, KubeError, KubeObject, ResourceRef } from "../../ports/kube-api.ts"
import { orIf } from "../kernel/or-if.ts"
import { SplitRefused } from "./split-refused.ts"

/** How many reads, of objects or of queues, are under way at a time. */
export const readAtOnce = 8

export interface ObjectName {
  readonly resource: ResourceRef & { readonly kind: string }
  readonly namespace: string
  readonly name: string
}

/** An object that was asked for; `undefined` if it does not exist. */
export type FoundObjects = (wanted: ObjectName) => KubeObject | undefined

const keyOf = ({ name, namespace, resource }: ObjectName): string => `${resource.kind} ${namespace}/${name}`

const forbidden =
  ({ name, namespace, resource: { kind } }: ObjectName) =>
  (error: KubeError): KubeError | SplitRefused =>
    error.reason === "Forbidden"
      ? new SplitRefused({
          code: 403,
          why:
            `The operator may not read the ${kind} ${quoted(name)} in the namespace ${namespace}: ` +
            `${quotation(error.detail)}; give it the right to.`
        })
      : error

/** Reads the objects. An object that the operator may not read is a refusal. */
export const foundObjects = (
  api: KubeApi,
  wanted: ReadonlyArray<ObjectName>
): Effect.Effect<FoundObjects, KubeError | SplitRefused> =>
  Effect.forEach(
    new Map(wanted.map((one) => [keyOf(one), one])),
    ([key, one]) =>
      api
        .get(one.resource, one.name, one.namespace)
        .pipe(
          orIf("NotFound", Effect.undefined),
          Effect.mapBoth({ onFailure: forbidden(one), onSuccess: (object) => [key, object] as const })
        ),
    { concurrency: readAtOnce }
  ).pipe(
    Effect.map((found) => {
      const objects = new Map(found)
      return (one) => objects.get(keyOf(one))
    })
  )

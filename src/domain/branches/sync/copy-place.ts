/**
 * The namespace of a branch's copy in the default cluster. A primary without workloads has the branches of all
 * namespaces in the operator's own, and clients name the target's by an annotation.
 *
 * Not here: whether the default cluster makes branches there, which its own operator decides.
 */

import * as Result from "effect/Result"
import { quoted } from "../../clean-text.ts"
import { isDnsLabel } from "../../fleet/cluster-name.ts"
import type { ObjectMeta } from "../../resources/object-meta.ts"
import { targetNamespaceAnnotation } from "../branch-admission.ts"

/** `operatorNamespace`: of this primary. The failure is a sentence for the user. */
export const copyNamespace = (
  { annotations, namespace = "" }: ObjectMeta,
  operatorNamespace: string
): Result.Result<string, string> => {
  const named = annotations?.[targetNamespaceAnnotation]
  if (named === undefined || named === namespace) return Result.succeed(namespace)
  if (namespace !== operatorNamespace) {
    return Result.fail(
      `The annotation ${targetNamespaceAnnotation} names another namespace than ${namespace}: make the branch in the ` +
        `target's own namespace, or in ${operatorNamespace}.`
    )
  }
  return isDnsLabel(named)
    ? Result.succeed(named)
    : Result.fail(
        `The annotation ${targetNamespaceAnnotation} is ${quoted(named)}; it must be the name of a namespace: ` +
          "lower-case letters, digits and hyphens, at most 63."
      )
}

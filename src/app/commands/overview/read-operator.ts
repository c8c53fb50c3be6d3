/**
 * Reads the operator's own object, which every user may read.
 *
 * Not here: what is shown of it (domain/commands/overview).
 */

import { Effect } from "effect"
import { type MirrordOperator, mirrordOperators } from "../../../domain/resources/mirrord-operator.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { unanswered, type Unanswered } from "./ask-cluster.ts"

/** The operator's own object, or why it cannot be shown. */
export const readOperator = (api: KubeApi): Effect.Effect<MirrordOperator, Unanswered> =>
  api.get(mirrordOperators, "operator").pipe(
    Effect.mapError((error) => unanswered(error, "the operator's object (mirrordoperators.operator.metalbear.co)")),
    Effect.flatMap((object) =>
      Effect.mapError(Effect.fromResult(readResource(mirrordOperators, object)), ({ message }) => ({
        message,
        fix: "Use the braid of the operator's release."
      }))
    )
  )

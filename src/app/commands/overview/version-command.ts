/**
 * The command `braid version`: this program's version and protocol, and those of the operators of a cluster and of its
 * members.
 *
 * Not here: the table (domain/commands/overview/version-overview.ts).
 */

import { Effect, Result } from "effect"
import { operatorOverview } from "../../../domain/commands/overview/operator-overview.ts"
import { versionLines, versionOverview } from "../../../domain/commands/overview/version-overview.ts"
import { version } from "../../kernel/version.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { chosenCluster } from "./ask-cluster.ts"
import { readOperator } from "./read-operator.ts"
import { type Output, tell, tellUnanswered } from "./tell.ts"

export interface VersionOptions extends KubeConfigChoice {
  readonly output: Output
  /** Whether no cluster is asked. */
  readonly client: boolean
}

/** Exit code 1 if an operator was to be asked and could not be; this program's version is printed all the same. */
export const runVersion = Effect.fnUntraced(function* ({
  client,
  output,
  ...choice
}: VersionOptions): Effect.fn.Return<number> {
  const asked = client
    ? undefined
    : yield* Effect.result(Effect.scoped(Effect.flatMap(chosenCluster(choice), readOperator)))
  const operator = asked !== undefined && Result.isSuccess(asked) ? operatorOverview(asked.success) : undefined
  const overview = versionOverview(version, operator)
  const code = yield* tell(output, Effect.succeed({ value: overview, lines: versionLines(overview), notes: [] }))
  if (asked === undefined || Result.isSuccess(asked)) return code
  tellUnanswered(asked.failure)
  return 1
})

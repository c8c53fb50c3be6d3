/**
 * The configuration of the fleet as a source that may change: the last one that can be used, and why a later one was
 * refused. It lives as long as the process, so that a replica that becomes leader has what the leader before it had.
 *
 * Not here: changing the fleet (follow-configuration.ts).
 */

import { Clock, Effect, Equal, Result, type Scope } from "effect"
import type { ConfigurationMistake, FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { needsRestart } from "../../domain/fleet/difference.ts"
import { type FleetDocuments, parseFleetConfiguration } from "../../domain/fleet/parse-configuration.ts"
import type { FleetFiles } from "../../ports/fleet-files.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { untilDone } from "../kernel/until-done.ts"

/** The judgement of the files as they are now. */
export interface ConfigurationVerdict {
  /** Since when the files are in use, or refused, epoch ms. */
  readonly since: number
  /** Why the files are refused, one sentence each; none if they are in use. */
  readonly problems: ReadonlyArray<string>
}

/** The clusters that were found, as the configuration has them. */
export interface ProvidedVerdict {
  /** Why some are not in the fleet, one sentence each. */
  readonly refused: () => ReadonlyArray<string>
  /** Since when some are not, or all are, epoch ms. */
  readonly since: () => number
  /** The text of the kubeconfig that a cluster was found by. `name`: of the cluster. */
  readonly kubeconfig: (name: string) => string | undefined
}

export interface ConfigurationSource {
  /** The configuration to run with. */
  readonly known: () => FleetConfiguration
  readonly verdict: () => ConfigurationVerdict
  /** The clusters that are found beside those of the files; missing if none are looked for. */
  readonly provided?: ProvidedVerdict | undefined
  /** Calls back after each change of the files, or of the clusters that are found; stops by the returned function. */
  readonly listen: (changed: () => void) => () => void
}

/** The whole new configuration, or all that is wrong with it: nothing of a wrong one is taken up. */
const judge = (
  running: FleetConfiguration,
  documents: FleetDocuments
): Result.Result<FleetConfiguration, ReadonlyArray<ConfigurationMistake>> =>
  Result.flatMap(parseFleetConfiguration(documents, sha256Hex), (found) => {
    const mistakes = needsRestart(running, found)
    return mistakes.length === 0 ? Result.succeed(found) : Result.fail(mistakes)
  })

/** Follows the files while the scope lives. `start`: the configuration that the process has started with. */
export const makeConfigurationSource = Effect.fnUntraced(function* (
  files: FleetFiles,
  start: FleetConfiguration
): Effect.fn.Return<ConfigurationSource, never, Scope.Scope> {
  const listeners = new Set<() => void>()
  let known = start
  let verdict: ConfigurationVerdict = { since: yield* Clock.currentTimeMillis, problems: [] }
  let documents: FleetDocuments | undefined
  const takeUp = Effect.gen(function* () {
    // The first reading is that of the start, unless the files have changed since.
    const isFirst = documents === undefined
    const read = yield* files.after(documents)
    const judged = judge(known, read)
    documents = read
    const problems = Result.isFailure(judged) ? judged.failure.map(({ message }) => message) : []
    const isSame = isFirst && Result.isSuccess(judged) && Equal.equals(judged.success, known)
    if (isSame) return
    if (Result.isSuccess(judged)) known = judged.success
    const isRefused = problems.length > 0
    const isAsBefore = isRefused === verdict.problems.length > 0
    verdict = { since: isAsBefore ? verdict.since : yield* Clock.currentTimeMillis, problems }
    yield* isRefused
      ? logWarning("changed configuration is refused, the last good one stays", { problem: problems.join(" ") })
      : logInfo("changed configuration is taken up")
    for (const listener of listeners) listener()
  })
  yield* Effect.forkScoped(Effect.forever(untilDone(takeUp, "configuration could not be read")))
  return {
    known: () => known,
    verdict: () => verdict,
    listen: (changed) => {
      listeners.add(changed)
      return () => void listeners.delete(changed)
    }
  }
})

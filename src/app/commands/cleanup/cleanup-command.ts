/**
 * The command `braid cleanup`: says what it would end, or ends it, prints the problems and gives the exit code.
 *
 * Not here: what is deleted, and in which order (cleanup.ts).
 */

import type { KubeConfig } from "@kubernetes/client-node"
import { Effect, Logger, type Scope } from "effect"
import { makeKubeApi } from "../../../adapters/kubernetes/kube-api-http.ts"
import { cleanText, textLimits } from "../../../domain/clean-text.ts"
import { type KubeConfigChoice, userKubeConfig } from "../user-kube-config.ts"
import { previewCleanup } from "./cleanup-preview.ts"
import { cleanup, type CleanupOptions } from "./cleanup.ts"

export interface CleanupCommandOptions extends CleanupOptions, KubeConfigChoice {
  /** Whether anything is ended. */
  readonly apply: boolean
  readonly bestEffort: boolean
}

const printed = (line: string): void => console.log(cleanText(line, textLimits.message))

/** The cluster in words, so that the user notices a wrong one. */
const placeOf = (config: KubeConfig): string => {
  const server = config.getCurrentCluster()?.server ?? ""
  return `the cluster of context ${config.getCurrentContext()} (${server})`
}

const preview = Effect.fnUntraced(function* (
  config: KubeConfig,
  options: CleanupOptions
): Effect.fn.Return<ReadonlyArray<string>, never, Scope.Scope> {
  const { planned, problems } = yield* previewCleanup(yield* makeKubeApi(config, "local"), options)
  if (planned.length > 0) {
    printed(`Nothing was ended in ${placeOf(config)}. --apply does this:`)
    planned.forEach((doing) => printed(`  ${doing}`))
  } else if (problems.length === 0) printed(`There is nothing to end in ${placeOf(config)}.`)
  return problems
})

/** Exit code 1 with a sentence for each problem; 0 without a problem, or with `--best-effort` in any case. */
export const runCleanup = ({ apply, bestEffort, ...options }: CleanupCommandOptions): Effect.Effect<number> =>
  Effect.gen(function* () {
    const config = yield* userKubeConfig(options)
    if (!apply) return yield* preview(config, options)
    return yield* cleanup(yield* makeKubeApi(config, "local"), options)
  }).pipe(
    Effect.scoped,
    Effect.catch(({ message }) =>
      Effect.succeed([`${message} Give one with --kubeconfig or KUBECONFIG, and choose with --context.`])
    ),
    Effect.map((problems) => {
      const what = apply ? "not everything could be cleaned up" : "not everything could be looked at"
      if (problems.length > 0) console.error(`braid: ${what}:\n${problems.join("\n")}`)
      return problems.length === 0 || bestEffort ? 0 : 1
    }),
    Effect.provide(Logger.layer([Logger.consoleLogFmt]))
  )

/**
 * The command `braid cleanup`: connects to the cluster of the pod, prints the problems and gives the exit code.
 *
 * Not here: what is deleted, and in which order (cleanup.ts).
 */

import { Effect, Logger, Predicate } from "effect"
import { makeKubeApi } from "../../../adapters/kubernetes/kube-api-http.ts"
import { ownKubeConfig } from "../../operator/own-kube-config.ts"
import { cleanup, type CleanupOptions } from "./cleanup.ts"

export interface CleanupCommandOptions extends CleanupOptions {
  readonly bestEffort: boolean
}

/** Exit code 1 with a sentence for each problem; 0 without a problem, or with `--best-effort` in any case. */
export const runCleanup = ({ bestEffort, ...options }: CleanupCommandOptions): Effect.Effect<number> =>
  Effect.gen(function* () {
    const config = yield* Effect.try({
      try: ownKubeConfig,
      catch: (cause) => `No cluster is configured: ${Predicate.isError(cause) ? cause.message : String(cause)}.`
    })
    const api = yield* makeKubeApi(config, "local")
    return yield* cleanup(api, options)
  }).pipe(
    Effect.scoped,
    Effect.catch((problem) => Effect.succeed([problem])),
    Effect.map((problems) => {
      if (problems.length > 0) console.error(`braid: not everything could be cleaned up:\n${problems.join("\n")}`)
      return problems.length === 0 || bestEffort ? 0 : 1
    }),
    Effect.provide(Logger.layer([Logger.consoleLogFmt]))
  )

import { Effect, Logger } from "effect"
import { makeKubeApi } from "../../../adapters/kubernetes/kube-api-http.ts"
import { ownKubeConfig } from "../../operator/own-kube-config.ts"
import { cleanup, type CleanupOptions } from "./cleanup.ts"

export interface CleanupCommandOptions extends CleanupOptions {
  readonly bestEffort: boolean
}

/** `braid cleanup`: exit code 1 and a sentence for each thing that is left, or 0 all the same with `--best-effort`. */
export const runCleanup = ({ bestEffort, ...options }: CleanupCommandOptions): Effect.Effect<number> =>
  Effect.gen(function* () {
    const config = yield* Effect.try({
      try: ownKubeConfig,
      catch: (cause) => `No cluster is configured: ${cause instanceof Error ? cause.message : String(cause)}.`
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

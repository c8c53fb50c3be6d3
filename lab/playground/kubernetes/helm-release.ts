/** Installs the chart with the real `helm`, as a user does. The values come from `kubernetes-playground.ts`. */

import { execFile } from "node:child_process"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect } from "effect"
import { PlaygroundError } from "../readiness.ts"
import { chartFolder, type Programs } from "./programs.ts"
import type { RealCluster } from "./real-cluster.ts"

/**
 * The release's own namespace is that of an installation without `-n`; the operator's namespace comes with the chart.
 */
export const releaseName = "mirrord-operator"

/** Runs the real `helm` against a cluster; the result is what it prints. The user's own configuration has no effect. */
export const runHelm = (
  programs: Programs,
  { plane }: RealCluster,
  args: ReadonlyArray<string>
): Effect.Effect<string, PlaygroundError> =>
  Effect.tryPromise({
    try: async (signal) => {
      const home = join(plane.directory, "helm")
      await mkdir(home, { recursive: true })
      const env = {
        HOME: home,
        HELM_CACHE_HOME: home,
        HELM_CONFIG_HOME: home,
        HELM_DATA_HOME: home,
        KUBECONFIG: plane.kubeconfigPath
      }
      return (await promisify(execFile)(programs.helm, [...args], { env, signal, maxBuffer: 16 * 1024 * 1024 })).stdout
    },
    catch: (cause) =>
      new PlaygroundError({
        detail: `helm ${args[0] ?? ""} failed: ${cause instanceof Error ? cause.message : String(cause)}`
      })
  })

/** Installs or upgrades the unchanged chart, or another release's; `flags`: further ones of `helm upgrade`. */
export const installChart = (
  programs: Programs,
  cluster: RealCluster,
  values: object,
  { chart = chartFolder, flags = [] }: { readonly chart?: string; readonly flags?: ReadonlyArray<string> } = {}
): Effect.Effect<string, PlaygroundError> =>
  Effect.gen(function* () {
    const file = join(cluster.plane.directory, "values.json")
    yield* Effect.tryPromise({
      try: () => writeFile(file, JSON.stringify(values), { mode: 0o600 }),
      catch: (cause) => new PlaygroundError({ detail: `${file} cannot be written: ${String(cause)}` })
    })
    const args = ["upgrade", "--install", releaseName, chart, "--values", file, ...flags]
    return yield* runHelm(programs, cluster, args)
  })

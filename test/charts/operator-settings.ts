import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigProvider, Effect, Predicate, Result } from "effect"
import { settingCards, type SettingValues } from "../../src/app/kernel/setting-values.ts"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { readSettings, type Settings } from "../../src/app/operator/settings.ts"
import type { Rendered } from "./chart.ts"

/** Settings, or why the operator does not start. */
export type StartOutcome = Result.Result<Settings, string>

const paths = Object.values(settingCards)
  .flatMap((card) => Object.entries(card))
  .flatMap(([name, { form }]) => (form === "path" ? [name] : []))

/** The values without paths of files, whose folder is another one each time. */
const withoutPaths = (values: SettingValues): SettingValues => ({
  ...values,
  ...Object.fromEntries(paths.map((name) => [name, undefined]))
})

/**
 * The settings that the operator reads at its start. `file` tells the content of a file of its ConfigMap. A variable
 * that names a field of the pod has a text; any other variable that is no text is not set.
 */
export const settingsFrom = async (
  env: Readonly<Record<string, unknown>>,
  file: (name: string) => string | undefined
): Promise<StartOutcome> => {
  const folder = await mkdtemp(join(tmpdir(), "braid-chart-"))
  try {
    for (const name of [
      "multicluster-config.yaml",
      "clusters-config.yaml",
      "agent-config.yaml",
      "access-providers.yaml",
      "pg-branch-config.yaml",
      "mysql-branch-config.yaml",
      "mariadb-branch-config.yaml",
      "mongodb-branch-config.yaml",
      "dynamodb-branch-config.yaml",
      "redis-branch-config.yaml",
      "clickhouse-branch-config.yaml"
    ]) {
      const content = file(name)
      if (content !== undefined) await writeFile(join(folder, name), content)
    }
    const texts = Object.entries(env).flatMap(([name, value]) => {
      if (typeof value === "string") return [[name, value.replace(/^\/mirrord-config/u, folder)]]
      if (name === "OPERATOR_DASHBOARD_OIDC_CLIENT_SECRET") return [[name, "of a Secret"]]
      return Predicate.hasProperty(value, "fieldRef") ? [[name, "of the pod"]] : []
    })
    const provider = ConfigProvider.fromEnv({ env: Object.fromEntries(texts) as Record<string, string> })
    const read = Effect.result(Effect.mapError(readSettings(sha256Hex), ({ message }) => message)).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, provider)
    )
    // The folder is another one each time.
    return Result.map(await Effect.runPromise(read), ({ fleetPaths, ...settings }) => ({
      ...settings,
      values: withoutPaths(settings.values),
      fleetPaths: fleetPaths && { ...fleetPaths, multiCluster: "", clusters: undefined }
    }))
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The same of a rendered chart. */
export const settingsOf = (rendered: Rendered): Promise<StartOutcome> =>
  settingsFrom(rendered.env, (name) => rendered.file(name))

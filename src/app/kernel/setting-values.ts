/**
 * All cards of settings, and reading the operator's environment by them.
 *
 * Not here: rules that look at several variables together, and files (app/operator/settings.ts).
 */

import { Config, ConfigProvider, Context, Effect, Option, Schema, Struct } from "effect"
import { extraEnvironment } from "../../domain/agents/agent-configuration.ts"
import { agentSettings } from "../../domain/agents/settings.ts"
import { branchSettings } from "../../domain/branches/settings.ts"
import {
  type Form,
  formOf,
  forms,
  hasForm,
  type Setting,
  type SettingCard,
  type ValuesOf
} from "../../domain/catalogue/setting.ts"
import { copySettings } from "../../domain/copies/settings.ts"
import { fleetSettings } from "../../domain/fleet/settings.ts"
import { leadershipSettings } from "../../domain/leadership/settings.ts"
import { metricSettings } from "../../domain/metrics/settings.ts"
import { outboundSettings } from "../../domain/outbound/settings.ts"
import { queueSettings } from "../../domain/queues/settings.ts"
import { serverSettings } from "../../domain/server/settings.ts"
import { sessionSettings } from "../../domain/sessions/settings.ts"
import { targetSettings } from "../../domain/targets/settings.ts"
import { tracingSettings } from "../../domain/tracing/settings.ts"
import { usageSettings } from "../../domain/usage/settings.ts"

const allSettings = {
  ...serverSettings,
  ...leadershipSettings,
  ...metricSettings,
  ...sessionSettings,
  ...targetSettings,
  ...copySettings,
  ...branchSettings,
  ...queueSettings,
  ...fleetSettings,
  ...outboundSettings,
  ...usageSettings,
  ...agentSettings
}

/** The cards in the order of docs/reference/settings.md, by their headings there. */
export const settingCards: Readonly<Record<string, SettingCard>> = {
  Server: serverSettings,
  Leadership: leadershipSettings,
  Metrics: metricSettings,
  Traces: tracingSettings,
  Sessions: sessionSettings,
  Targets: targetSettings,
  Copies: copySettings,
  Branches: branchSettings,
  "Splits of queues": queueSettings,
  Fleet: fleetSettings,
  "Members that dial out": outboundSettings,
  Usage: usageSettings,
  Agents: agentSettings
}

const isList = (form: Setting["form"]): boolean =>
  form === "words" || Object.entries<Form>(forms).some(([name, { separator }]) => name === form && separator === ",")

const parsed = (form: Setting["form"], text: string): unknown => {
  switch (form) {
    case "port":
    case "bound":
    case "certificateHours":
    case "seconds":
    case "millis":
    case "days":
    case "mebibytes":
      return Number(text)
    case "leaseTime":
      return Number(text) * 1000
    default:
      return isList(form) ? text.split(",") : text
  }
}

/** The texts of collectors' URLs may hold passwords, so no error repeats them: tracing-settings.ts judges them. */
const isJudgedElsewhere = ({ form }: Setting): boolean => form === "collector"

const checked = (setting: Setting): Config.Config<unknown> => {
  const form = isJudgedElsewhere(setting) ? undefined : formOf(setting)
  if (form === undefined) return Config.String(setting.variable)
  const check = Schema.makeFilter((text: string) => (hasForm(form, text) ? undefined : `Expected ${form.must}`))
  return Config.schema(Schema.String.check(check), setting.variable).pipe(
    Config.map((text) => parsed(setting.form, text))
  )
}

const variables = (name: string): Config.Config<unknown> => {
  const check = Schema.makeFilter((json: string) =>
    extraEnvironment(json) === undefined ? 'Expected variables as a JSON object, such as {"NAME":"value"}' : undefined
  )
  return Config.schema(Schema.String.check(check), name).pipe(Config.map(extraEnvironment))
}

const read = (setting: Setting): Config.Config<unknown> => {
  if (setting.form === "truth") return Config.Boolean(setting.variable)
  if (setting.form === "variables") return variables(setting.variable)
  return setting.form === "secret" ? Config.Redacted(setting.variable) : checked(setting)
}

/** Reads the variable of a setting. */
const configOfSetting = (setting: Setting): Config.Config<unknown> =>
  setting.default === undefined
    ? Config.option(read(setting)).pipe(Config.map(Option.getOrUndefined))
    : read(setting).pipe(Config.withDefault<unknown>(setting.default))

/** Reads the variables of a card. */
export const configOf = <Card extends SettingCard>(card: Card): Config.Config<ValuesOf<Card>> =>
  Config.all(Object.fromEntries(Object.entries(card).map(([name, setting]) => [name, configOfSetting(setting)]))).pipe(
    Config.map((values) => values as ValuesOf<Card>)
  )

/** The value of each setting; those of traces are read by tracing-settings.ts. */
export type SettingValues = ValuesOf<typeof allSettings>

/** Whether each setting that is a switch is on, by its variable. */
export const switchesOf = (values: SettingValues): Readonly<Record<string, boolean>> =>
  Object.fromEntries(
    Struct.keys(allSettings).flatMap((name) => {
      const value = values[name]
      return typeof value === "boolean" ? [[allSettings[name].variable, value] as const] : []
    })
  )

/** Reads the value of each setting from the environment. */
export const settingValues: Config.Config<SettingValues> = configOf(allSettings)

/** The settings of this process, for the code that acts on one; those of an empty environment by default. */
export const CurrentSettings = Context.Reference<SettingValues>("braid/app/CurrentSettings", {
  defaultValue: () => Effect.runSync(settingValues.parse(ConfigProvider.fromEnv({ env: {} })))
})

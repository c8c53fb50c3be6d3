/**
 * Reads OpenTelemetry's variables about traces, as far as the operator uses them, and the published chart's
 * `OTLP_TRACES_URL`. Traces are off without an address of a collector; the other variables are not looked at then.
 */

import { type Config, Redacted, Result } from "effect"
import type { OtlpSettings } from "../../adapters/otlp/otlp-tracer.ts"
import { forms, hasForm } from "../../domain/catalogue/setting.ts"
import type { ConfigurationMistake } from "../../domain/fleet/configuration.ts"
import { keyValueList } from "../../domain/tracing/key-value-list.ts"
import { parseSampler, type Sampler } from "../../domain/tracing/sampler.ts"
import { tracingSettings } from "../../domain/tracing/settings.ts"
import { configOf } from "../kernel/setting-values.ts"

export interface TracingSettings {
  readonly otlp: OtlpSettings
  readonly sampler: Sampler
}

/** The variables of traces; the texts of collectors' URLs unchecked. */
export const tracingEnvironment = configOf(tracingSettings)

type Environment = Config.Success<typeof tracingEnvironment>

/** A variable and what it holds. */
interface Named {
  readonly name: string
  readonly value: string
}

/** The first variable that is set; an empty one counts as unset, as OpenTelemetry has it. */
const firstSet = (variables: Readonly<Record<string, string | undefined>>): Named | undefined => {
  for (const [name, value] of Object.entries(variables)) if (value !== undefined && value !== "") return { name, value }
  return undefined
}

const mistake = (field: string, value: string, cure: string): ConfigurationMistake => ({
  file: "environment",
  field,
  value,
  cure,
  message: `${field} is ${value}; ${cure}.`
})

type Read<A> = Result.Result<A, ConfigurationMistake>

const allMistakes = (read: Readonly<Record<string, Read<unknown>>>): ReadonlyArray<ConfigurationMistake> =>
  Object.values(read).flatMap((one) => (Result.isFailure(one) ? [one.failure] : []))

/** The URL of a variable; `undefined` if it is not set. The text may hold a password, so it is not repeated. */
const readUrl = (name: string, text = ""): Read<URL | undefined> => {
  if (text === "") return Result.succeed(undefined)
  const url = hasForm(forms.collector, text) ? URL.parse(text) : null
  const cure = "set it to an http or https URL without a user, such as http://collector:4318"
  return url === null ? Result.fail(mistake(name, "no address of a collector", cure)) : Result.succeed(url)
}

const withTracesPath = (url: URL): string => {
  const whole = new URL(url)
  whole.pathname = `${url.pathname.replace(/\/$/u, "")}/v1/traces`
  return whole.href
}

/**
 * Where traces go; `undefined` if nowhere. Only the common address gets the signal's path (OTLP exporter
 * specification), and the published chart's where it has none.
 */
const readEndpoint = ({ endpoint, publishedEndpoint, tracesEndpoint }: Environment) => {
  const read = {
    traces: readUrl("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", tracesEndpoint),
    published: readUrl("OTLP_TRACES_URL", publishedEndpoint),
    common: readUrl("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
  }
  return Result.all(read).pipe(
    Result.map(({ common, published, traces }) => {
      if (traces !== undefined) return traces.href
      if (published !== undefined) return published.pathname === "/" ? withTracesPath(published) : published.href
      return common === undefined ? undefined : withTracesPath(common)
    }),
    Result.mapError(() => allMistakes(read))
  )
}

const readHeaders = (env: Environment): Read<OtlpSettings["headers"]> => {
  const found = firstSet({
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: env.tracesHeaders && Redacted.value(env.tracesHeaders),
    OTEL_EXPORTER_OTLP_HEADERS: env.headers && Redacted.value(env.headers)
  })
  if (found === undefined) return Result.succeed(Redacted.make({}))
  const headers = keyValueList(found.value)
  return headers === undefined
    ? Result.fail(mistake(found.name, "no list of headers", "set it to name=value pairs with commas between them"))
    : Result.succeed(Redacted.make(headers))
}

const protocols = ["http/protobuf", "http/json"] as const

const readProtocol = (env: Environment): Read<OtlpSettings["protocol"]> => {
  const found = firstSet({
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: env.tracesProtocol,
    OTEL_EXPORTER_OTLP_PROTOCOL: env.protocol
  })
  const protocol = protocols.find((one) => one === (found?.value ?? "http/protobuf"))
  return found !== undefined && protocol === undefined
    ? Result.fail(mistake(found.name, JSON.stringify(found.value.slice(0, 40)), `set it to ${protocols.join(" or ")}`))
    : Result.succeed(protocol ?? "http/protobuf")
}

const readResource = ({ resource, serviceName }: Environment): Read<OtlpSettings["resource"]> => {
  const attributes = keyValueList(resource ?? "")
  if (attributes === undefined)
    return Result.fail(
      mistake(
        "OTEL_RESOURCE_ATTRIBUTES",
        "no list of attributes",
        "set it to name=value pairs with commas between them"
      )
    )
  const service = firstSet({ OTEL_SERVICE_NAME: serviceName })
  return Result.succeed({ ...attributes, ...(service === undefined ? {} : { "service.name": service.value }) })
}

const readSampler = (env: Environment): Read<Sampler> => {
  const name = firstSet({ OTEL_TRACES_SAMPLER: env.sampler })?.value
  const argument = firstSet({ OTEL_TRACES_SAMPLER_ARG: env.samplerArgument })?.value
  const found = { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument }
  return Result.mapError(parseSampler(name, argument), ({ cure, field }) =>
    mistake(field, JSON.stringify(found[field]?.slice(0, 40)), cure)
  )
}

/** The settings of traces; `undefined` while they are off. Addresses are checked in any case. */
export const readTracing = (
  env: Environment
): Result.Result<TracingSettings | undefined, ReadonlyArray<ConfigurationMistake>> =>
  Result.flatMap(readEndpoint(env), (url) => {
    if (url === undefined || env.disabled) return Result.succeed(undefined)
    const read = {
      headers: readHeaders(env),
      protocol: readProtocol(env),
      resource: readResource(env),
      sampler: readSampler(env)
    }
    return Result.all(read).pipe(
      Result.map(({ sampler, ...otlp }) => ({ otlp: { url, ...otlp }, sampler })),
      Result.mapError(() => allMistakes(read))
    )
  })

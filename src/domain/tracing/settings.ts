/** The settings of traces: OpenTelemetry's variables, and the published chart's `OTLP_TRACES_URL`. */

import type { SettingCard } from "../catalogue/setting.ts"

const endpoint = "where traces go, unless an endpoint above says it; without an endpoint nowhere"
const headers = "headers for the collector, `name=value` with commas between; kept secret"

export const tracingSettings = {
  disabled: {
    variable: "OTEL_SDK_DISABLED",
    form: "truth",
    default: false,
    about: "`true`: no traces, whatever else is set"
  },
  tracesEndpoint: {
    variable: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    form: "collector",
    about: "where [traces](spans.md) go: an http or https URL without a user, with its path"
  },
  publishedEndpoint: {
    variable: "OTLP_TRACES_URL",
    form: "collector",
    about: `${endpoint}. It gets the path \`/v1/traces\` if it has none; the chart's \`operator.otelTraceExportUrl\``
  },
  endpoint: {
    variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
    form: "collector",
    about: `${endpoint}. It gets the path \`/v1/traces\``
  },
  tracesHeaders: { variable: "OTEL_EXPORTER_OTLP_TRACES_HEADERS", form: "secret", about: headers },
  headers: {
    variable: "OTEL_EXPORTER_OTLP_HEADERS",
    form: "secret",
    about: "the same, unless `OTEL_EXPORTER_OTLP_TRACES_HEADERS` is set"
  },
  tracesProtocol: {
    variable: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    form: "text",
    defaultText: "`http/protobuf`",
    about: "`http/protobuf` or `http/json`"
  },
  protocol: {
    variable: "OTEL_EXPORTER_OTLP_PROTOCOL",
    form: "text",
    defaultText: "`http/protobuf`",
    about: "the same, unless `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL` is set"
  },
  serviceName: {
    variable: "OTEL_SERVICE_NAME",
    form: "text",
    defaultText: "`mirrord-operator`",
    about: "`service.name` of the spans"
  },
  resource: {
    variable: "OTEL_RESOURCE_ATTRIBUTES",
    form: "text",
    about: "more attributes of every span, `name=value` with commas between"
  },
  sampler: {
    variable: "OTEL_TRACES_SAMPLER",
    form: "text",
    defaultText: "`parentbased_always_on`",
    about:
      "`always_on`, `always_off`, `traceidratio` or one of these with `parentbased_` before it: with it the primary " +
      "decides for its members"
  },
  samplerArgument: { variable: "OTEL_TRACES_SAMPLER_ARG", form: "text", about: "the ratio, from 0 to 1" }
} as const satisfies SettingCard

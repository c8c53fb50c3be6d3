/** The settings of metrics. */

import type { SettingCard } from "../catalogue/setting.ts"

export const metricSettings = {
  metrics: {
    variable: "OPERATOR_METRICS_ENABLED",
    form: "truth",
    default: false,
    value: "operator.metrics",
    about: "whether [metrics](metrics.md) are served"
  },
  metricsAddress: {
    variable: "OPERATOR_METRICS_ADDR",
    form: "address",
    default: "[::]:9000",
    about: "address and port of metrics, if they are served"
  },
  metricsFallback: {
    variable: "OPERATOR_METRICS_FALLBACK_ADDR",
    form: "address",
    about: "the same, where the machine does not have that address"
  }
} as const satisfies SettingCard

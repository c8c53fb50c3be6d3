/** The settings of the record of use. */

import type { SettingCard } from "../catalogue/setting.ts"

export const usageSettings = {
  recordsUsage: {
    variable: "OPERATOR_USAGE_ENABLED",
    form: "truth",
    default: false,
    value: "dashboard.enabled",
    about: "whether the [use of sessions](../operating/usage.md) is recorded and reported"
  },
  usageFile: {
    variable: "OPERATOR_USAGE_FILE",
    form: "path",
    default: "/usage/usage.db",
    about: "the file of the records, in a folder that the operator may write; SQLite makes others beside it"
  },
  usageDatabase: {
    variable: "OPERATOR_USAGE_DATABASE_URL",
    form: "secret",
    about: "the URL of a PostgreSQL database in which the records are, in place of the file"
  },
  usageDatabaseAuthority: {
    variable: "OPERATOR_USAGE_DATABASE_CA",
    form: "text",
    about: "the authority of that server's certificate, PEM; without it, those that Node.js knows"
  },
  usageRetentionDays: {
    variable: "OPERATOR_USAGE_RETENTION_DAYS",
    form: "days",
    default: 1_826,
    value: "usage.retentionDays",
    about: "how many days a record is kept after its session began"
  },
  usageMaxMebibytes: {
    variable: "OPERATOR_USAGE_MAX_MEBIBYTES",
    form: "mebibytes",
    default: 900,
    value: "usage.maxMebibytes",
    about: "how much room the records may take, in MiB; where they take more, the oldest go"
  }
} as const satisfies SettingCard

/** The settings of the record of use, and of its page at an ingress. */

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
  },
  servesDashboard: {
    variable: "OPERATOR_DASHBOARD_INGRESS",
    form: "truth",
    default: false,
    value: "dashboard.ingress.enabled",
    where: "dashboard",
    about: "whether the [page of use](../operating/usage.md#a-page-for-all) is served for an ingress"
  },
  dashboardPort: {
    variable: "OPERATOR_DASHBOARD_PORT",
    form: "port",
    default: 8_050,
    about: "port of that page, which the ingress leads to"
  },
  dashboardHost: {
    variable: "OPERATOR_DASHBOARD_HOST",
    form: "hostName",
    value: "dashboard.ingress.host",
    where: "dashboard",
    about: "the name by which browsers reach that page, always over HTTPS"
  },
  oidcIssuer: {
    variable: "OPERATOR_DASHBOARD_OIDC_ISSUER",
    form: "issuer",
    value: "dashboard.oidc.issuer",
    where: "dashboard",
    about: "the OpenID Connect provider at which people log in to that page"
  },
  oidcClientId: {
    variable: "OPERATOR_DASHBOARD_OIDC_CLIENT_ID",
    form: "text",
    value: "dashboard.oidc.clientId",
    where: "dashboard",
    about: "the page's name at this provider"
  },
  oidcClientSecret: {
    variable: "OPERATOR_DASHBOARD_OIDC_CLIENT_SECRET",
    form: "secret",
    about: "the page's secret at this provider, from the chart's `dashboard.oidc.secret`"
  },
  oidcScopes: {
    variable: "OPERATOR_DASHBOARD_OIDC_SCOPES",
    form: "scopes",
    default: ["openid", "profile", "email"],
    value: "dashboard.oidc.scopes",
    where: "dashboard",
    about: "what is asked about a person; some providers tell groups only to whom asks for `groups`"
  },
  oidcGroupsClaim: {
    variable: "OPERATOR_DASHBOARD_OIDC_GROUPS_CLAIM",
    form: "text",
    default: "groups",
    value: "dashboard.oidc.groupsClaim",
    where: "dashboard",
    about: "the claim that has a person's groups"
  },
  oidcGroups: {
    variable: "OPERATOR_DASHBOARD_OIDC_GROUPS",
    form: "groups",
    default: [],
    value: "dashboard.oidc.groups",
    where: "dashboard",
    about: "groups whose people may see the page, separated by commas"
  },
  oidcEmails: {
    variable: "OPERATOR_DASHBOARD_OIDC_EMAILS",
    form: "emails",
    default: [],
    value: "dashboard.oidc.emails",
    where: "dashboard",
    about: "people who may see the page, by the addresses that the provider has verified, separated by commas"
  }
} as const satisfies SettingCard

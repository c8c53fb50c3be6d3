/** The settings of the operator as a server: where it listens, how it logs, and what callers may hold. */

import type { SettingCard } from "../catalogue/setting.ts"

export const serverSettings = {
  address: {
    variable: "OPERATOR_ADDR",
    form: "address",
    default: "[::]:443",
    about: "address and port to serve on"
  },
  fallback: {
    variable: "OPERATOR_FALLBACK_ADDR",
    form: "address",
    about:
      "the same, where the machine does not have that address: the chart's `0.0.0.0:PORT` is for nodes without IPv6. " +
      "A port that is taken is no reason"
  },
  namespace: {
    variable: "MIRRORD_OPERATOR_NAMESPACE",
    form: "text",
    default: "mirrord",
    about: "where the operator's Secrets, ConfigMaps, Lease and pods are"
  },
  requireFrontProxy: {
    variable: "OPERATOR_REQUIRE_FRONT_PROXY_CLIENT_CERT",
    form: "truth",
    default: true,
    value: "operator.requireFrontProxyClientCert",
    about: "`false` believes `X-Remote-*` headers from every peer that reaches the port. Do not"
  },
  jsonLog: {
    variable: "OPERATOR_JSON_LOG",
    form: "truth",
    default: false,
    value: "operator.jsonLog",
    about: "log as JSON instead of logfmt"
  },
  certificatePath: {
    variable: "OPERATOR_TLS_CERT_PATH",
    form: "path",
    about:
      "PEM file of the serving certificate; with `OPERATOR_TLS_KEY_PATH` or not at all. A renewed pair is served " +
      "without a restart, half a minute after its files; while the two do not fit together the old pair stays. Log: " +
      "`a renewed serving certificate is served`, `the old serving certificate stays`"
  },
  keyPath: { variable: "OPERATOR_TLS_KEY_PATH", form: "path", about: "PEM file of its key" },
  ownCertificate: {
    variable: "OPERATOR_OWN_CERTIFICATE",
    form: "truth",
    default: false,
    about:
      "`true`, and no such files: the operator keeps a certificate in the Secret `mirrord-operator-serving` and its " +
      "authority in the APIService. The chart sets it where the values give no certificate. `false`: a certificate " +
      "is made at each start, which no API server can check"
  },
  connections: {
    variable: "OPERATOR_CONNECTIONS",
    form: "bound",
    default: 2_000,
    value: "bounds.connections",
    about: "connections of all clients and primaries at a time"
  },
  requestsPerUser: {
    variable: "OPERATOR_REQUESTS_PER_USER",
    form: "bound",
    default: 200,
    value: "bounds.requestsPerUser",
    about:
      "requests of one user that wait for their answers, held connects included. A request counts once for each 64 " +
      "KiB of its headers"
  }
} as const satisfies SettingCard

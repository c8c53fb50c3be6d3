/**
 * The facts about ClickHouse from which its branches are made.
 *
 * Not here: its programs (src/adapters/engines/clickhouse).
 */

import type { AddressForm, Dialect } from "../dialect.ts"
import { backtickedName, filterProblem } from "./sql-text.ts"

/** The ports that its program serves: those of the native protocol and of HTTP. */
const port = 9000
const httpPort = 8123

/** Drivers whose name in a scheme says that they speak HTTP. */
const httpDrivers: ReadonlySet<string> = new Set(["http", "connect"])

/**
 * The branch's port by the source's: programs that speak HTTP stay there. Without a usual port the URL's scheme says
 * it, and the native protocol is the usual one. A branch has no TLS, which some schemes ask for.
 */
const portFor: AddressForm["portFor"] = (scheme, old) => {
  const [protocol = "", driver = ""] = scheme.split("+")
  if (protocol === "https" || protocol === "clickhouses" || driver === "https") return undefined
  const speaksHttp =
    ["http", "clickhousedb"].includes(protocol) || httpDrivers.has(driver) || ["8123", "8443"].includes(old)
  return speaksHttp ? httpPort : port
}

const address: AddressForm = {
  schemes: ["clickhouse", "clickhousedb", "clickhouses", "http", "https"],
  locates: (parameter) =>
    ["host", "hostname", "server", "servers", "alt_hosts", "port", "proxy", "http_proxy", "https_proxy", "proxy_host"]
      .concat(["proxy_port", "user", "username", "password", "db", "database", "server_host_name"])
      .includes(parameter),
  secures: (parameter) => /^(?:ssl|tls|secure|verify|ca_?cert|client_?cert|protocol$|skip_verify)/u.test(parameter),
  own: {},
  isNamedAfterUser: false,
  portFor
}

/** ClickHouse. */
export const clickhouse: Dialect = {
  repository: "docker.io/clickhouse/clickhouse-server",
  version: "24.8",
  port,
  address,
  user: "default",
  userId: 101,
  programs: "clickhouse",
  parts: "Tables",
  partProblem: ({ filter, name }) => {
    if (backtickedName(name) === undefined)
      return "has no name of a table: it must be like orders or `Odd.Name`, without its database"
    return filter === undefined ? undefined : filterProblem(filter, "ClickHouse")
  },
  partName: (name) => backtickedName(name) ?? name,
  dumpArgumentProblem: () => "and there is no dump program to take it",
  dumpArguments: []
}

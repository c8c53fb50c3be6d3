/** The machine's own network, which no test may change: looked at without changing it. */

import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, readlinkSync } from "node:fs"
import { tools } from "./tools.ts"

/** The network namespace of a process, as the kernel names it. */
export const networkOf = (pid: number | "self"): string => readlinkSync(`/proc/${pid}/ns/net`)

const run = (file: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(file, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })

/** The names of the tables that the old tools have made; the kernel may know no such tables. */
const tables = (file: string): string => (existsSync(file) ? readFileSync(file, "utf8") : "")

/** The old tools are not asked where they have no table: asking for one makes it. Counters are left out. */
const rules = (names: string, legacySave: string, nftSave: string): string =>
  [run(nftSave), names === "" ? "" : run(legacySave)]
    .join("\n")
    .replaceAll(/^#.*$/gm, "")
    .replaceAll(/\[\d+:\d+\]/g, "")

/** Interfaces, addresses, routes and rules of this process's network namespace, without counters and times. */
export const machineNetwork = (): Readonly<Record<string, string>> => {
  const names = tables("/proc/net/ip_tables_names")
  const names6 = tables("/proc/net/ip6_tables_names")
  return {
    "tables, IPv4": names,
    "tables, IPv6": names6,
    "rules, IPv4": rules(names, tools.legacySave, tools.nftSave),
    "rules, IPv6": rules(names6, tools.legacySave6, tools.nftSave6),
    interfaces: run(tools.ip, "-o", "link"),
    addresses: run(tools.ip, "-o", "addr").replaceAll(/(?:valid|preferred)_lft \S+/g, ""),
    routes: run(tools.ip, "-4", "route", "show", "table", "all")
  }
}

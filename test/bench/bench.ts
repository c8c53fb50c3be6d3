/**
 * Runs the benchmarks by name (`npm run bench`) and prints their lines. Numbers are not judged, because they depend on
 * the machine; a benchmark fails only if it finds something wrong.
 */

import { parseArgs } from "node:util"
import { branchStatus } from "./branch-status.ts"
import { branches } from "./branches.ts"
import { credentials } from "./credentials.ts"
import { memory } from "./memory.ts"
import { protocol } from "./protocol.ts"
import { queues } from "./queues.ts"
import { relay } from "./relay.ts"
import { session } from "./session.ts"
import { sessions } from "./sessions.ts"
import { simulation } from "./simulation.ts"
import { tunnel } from "./tunnel.ts"
import { usage } from "./usage.ts"

/** A benchmark: its name, what it measures, and the measurement, which gives the lines to print. */
const benchmarks: ReadonlyArray<
  readonly [name: string, about: string, run: (isShort: boolean) => Iterable<string> | AsyncIterable<string>]
> = [
  ["relay", "the message path against HAProxy, nginx and a plain ws relay (needs Go, taskset, two CPUs)", relay],
  [
    "session",
    "one session on real nodes, against the client without operator (as root: mirrord's own programs, `npm run node`)",
    session
  ],
  ["memory", "operators at rest, with busy and with idle sessions (as root: it needs memory cgroups)", memory],
  ["sessions", "200 sessions for ten minutes: memory, processor time, latency, what is left (as root)", sessions],
  ["protocol", "encode, decode and skip of typical messages, against a plain copy of their bytes", protocol],
  [
    "simulation",
    "virtual against real time, the cost of more clusters and sessions, and what distance costs a client",
    simulation
  ],
  ["branch-status", "the status of branches from a default cluster to its primary, in virtual time", branchStatus],
  [
    "credentials",
    "10,000 lives of members' tokens in 50 simulated clusters, with faults in their renewals: no user may notice",
    credentials
  ],
  ["tunnel", "tunnels of members that dial out, against a direct link, Konnectivity and remotedialer", tunnel],
  ["queues", "the split of a queue, against bare loops on the same server (needs `npm run engines`)", queues],
  ["usage", "reports on the use of a year, against plain SQL over the same records", usage],
  ["branches", "copies of databases by branches, against the engines' own programs (needs `npm run engines`)", branches]
]

const help = `npm run bench -- NAME…

${benchmarks.map(([name, about]) => `  ${name.padEnd(13)} ${about}`).join("\n")}

  --short    less time for each measurement, and only the main ones (all but protocol and simulation)
  --help     this text

Times are those of this machine at this moment; only the ratios, taken in the same run, say something about the code.`

const main = async (): Promise<number> => {
  const { values, positionals } = parseArgs({
    options: { help: { type: "boolean" }, short: { type: "boolean" } },
    allowPositionals: true,
    strict: false
  })
  if (values["help"] === true) {
    console.log(help)
    return 0
  }
  const unknown = positionals.find((wanted) => !benchmarks.some(([name]) => name === wanted))
  if (unknown !== undefined || positionals.length === 0) {
    console.error(
      `bench: ${unknown === undefined ? "no NAME given" : `no benchmark is called ${JSON.stringify(unknown)}`}` +
        `\n\n${help}`
    )
    return 2
  }
  try {
    for (const [name, , run] of benchmarks)
      if (positionals.includes(name)) for await (const line of run(values["short"] === true)) console.log(line)
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  }
  return 0
}

process.exitCode = await main()

#!/usr/bin/env node
/**
 * The program `braid-lab` of the workshop: its commands, their flags and their help. The operator's image does not
 * contain it.
 *
 * Not here: the work of a command. Its code is loaded only when the command runs.
 */

import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { runs, teardown } from "../src/app/commands/run-command.ts"
import { version } from "../src/app/kernel/version.ts"
import { fuzzFlags } from "./fuzz/fuzz-flags.ts"
import { simulateFlags } from "./simulation/command/simulate-flags.ts"
import { exploreFlags } from "./simulation/explore/explore-flags.ts"

const playground = Command.make(
  "playground",
  {
    topology: Flag.Literals("topology", ["management", "primary-default", "outbound"]).pipe(
      Flag.withDefault("management"),
      Flag.withDescription(
        "management: primary (only manages), cluster-a (default), cluster-b; primary-default: the primary is the " +
          "default; outbound: as management, but cluster-b dials the primary, which cannot reach it"
      )
    ),
    once: Flag.Boolean("once").pipe(
      Flag.withDefault(false),
      Flag.withDescription("End after the story instead of staying up")
    ),
    subnet: Flag.Int("subnet").pipe(
      Flag.withDefault(40),
      Flag.withDescription(
        "Pods, and with --kubernetes Services, get addresses from 127.<subnet>.0.0 on, a /16 per cluster; choose " +
          "another one to run two playgrounds"
      )
    ),
    sessionTtlSecs: Flag.Int("session-ttl-secs").pipe(
      Flag.withDefault(60),
      Flag.withDescription("How long a session lives without a client")
    ),
    kubernetes: Flag.Boolean("kubernetes").pipe(
      Flag.withDefault(false),
      Flag.withDescription(
        "Real control planes, with the operators installed by helm; `npm run kubernetes` makes the programs"
      )
    ),
    node: Flag.Boolean("node").pipe(
      Flag.withDefault(false),
      Flag.withDescription(
        "Real clusters, each with a real node that runs the operator's image; `npm run node` provides what it needs"
      )
    ),
    branches: Flag.Boolean("branches").pipe(
      Flag.withDefault(false),
      Flag.withDescription(
        "Tells another story: mirrord's own client with branches of a PostgreSQL, both of this machine"
      )
    ),
    queues: Flag.Boolean("queues").pipe(
      Flag.withDefault(false),
      Flag.withDescription(
        "Tells another story: a session splits SQS queues of all clusters, with ElasticMQ in place of Amazon SQS; " +
          "`npm run engines` provides it; also with --kubernetes"
      )
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withDefault(false),
      Flag.withDescription("One JSON line per step on standard output")
    )
  },
  (options) =>
    runs(
      () => import("./playground/playground-command.ts"),
      ({ runPlayground }) => runPlayground(options)
    )
).pipe(Command.withDescription("Starts clusters on this machine, plays one session through all of them and stays up."))

const simulate = Command.make("simulate", simulateFlags, (flags) =>
  runs(
    () => import("./simulation/command/simulate-command.ts"),
    ({ runSimulate }) => runSimulate(flags)
  )
).pipe(
  Command.withDescription(
    "Tells stories of whole installations under virtual time, with faults, and looks for what must never happen."
  )
)

const explore = Command.make("explore", exploreFlags, (options) =>
  runs(
    () => import("./simulation/explore/explore-command.ts"),
    ({ runExplore }) => runExplore(options)
  )
).pipe(
  Command.withDescription(
    "Runs properties and random stories with fresh seeds for some minutes, tells what fails, and proposes what " +
      "`npm test` draws from then on."
  )
)

const fuzz = Command.make("fuzz", fuzzFlags, (flags) =>
  runs(
    () => import("./fuzz/fuzz-command.ts"),
    ({ runFuzz }) => runFuzz(flags)
  )
).pipe(
  Command.withDescription(
    "Sends hostile input to operators from all sides, with live sessions beside it, and looks for what it does to them."
  )
)

const agent = Command.make(
  "agent",
  { arguments: Argument.String("arguments").pipe(Argument.variadic()) },
  () => Effect.void
).pipe(
  Command.withDescription(
    "Runs the reference agent; takes the real agent's arguments, such as -l 61337 -t 30 targetless."
  )
)

/**
 * Passes the command line on as it is, because the real agent's form of it is fixed (`-l PORT -t SECS targeted -c ID`).
 */
const runAgent = (argv: ReadonlyArray<string>): Effect.Effect<void> =>
  runs(
    () => import("./agent/agent-command.ts"),
    ({ runAgentCommand }) => runAgentCommand(argv)
  )

const lab = Command.make("braid-lab").pipe(
  Command.withDescription(
    "The workshop of braid: clusters to play with, a simulation, a stand-in for mirrord's agent."
  ),
  Command.withSubcommands([playground, simulate, explore, fuzz, agent])
)

const [command, ...rest] = process.argv.slice(2)
if (command === "agent" && rest[0] !== "--help") NodeRuntime.runMain(runAgent(rest))
else Command.run(lab, { version }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain({ teardown }))

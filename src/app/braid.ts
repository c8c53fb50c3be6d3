#!/usr/bin/env node
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Option, Runtime } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { simulateFlags } from "./simulation/command/simulate-flags.ts"
import { version } from "./version.ts"

/** Ends the process with a code once the command is done and cleaned up. */
const exitWith = (code: number): Effect.Effect<void> =>
  Effect.sync(() => {
    process.exitCode = code
  })

/** A command whose code is loaded only when it is run, so that none pays for the others. The process ends with its exit code. */
const runs = <Module, E, R>(load: () => Promise<Module>, run: (module: Module) => Effect.Effect<number, E, R>): Effect.Effect<void, E, R> =>
  Effect.flatMap(Effect.promise(load), (module) => Effect.flatMap(run(module), exitWith))

const optionalText = (name: string, description: string) => Flag.String(name).pipe(Flag.optional, Flag.map(Option.getOrUndefined), Flag.withDescription(description))

const operator = Command.make("operator", {}, () =>
  runs(() => import("./operator/operator-command.ts"), ({ runOperator }) => runOperator)
).pipe(Command.withDescription("Runs the operator of one cluster, configured by the environment of the chart."))

const playground = Command.make(
  "playground",
  {
    topology: Flag.Literals("topology", ["management", "primary-default"]).pipe(
      Flag.withDefault("management"),
      Flag.withDescription("management: primary (only manages), cluster-a (default), cluster-b; primary-default: the primary is the default")
    ),
    once: Flag.Boolean("once").pipe(Flag.withDefault(false), Flag.withDescription("End after the story instead of staying up")),
    subnet: Flag.Int("subnet").pipe(
      Flag.withDefault(40),
      Flag.withDescription("Pods, and with --kubernetes Services, get addresses from 127.<subnet>.0.0 on, a /16 per cluster; choose another one to run two playgrounds")
    ),
    sessionTtlSecs: Flag.Int("session-ttl-secs").pipe(
      Flag.withDefault(60),
      Flag.withDescription("How long a session lives without a client")
    ),
    kubernetes: Flag.Boolean("kubernetes").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Real control planes, with the operators installed by helm; `npm run kubernetes` makes the programs")
    ),
    json: Flag.Boolean("json").pipe(Flag.withDefault(false), Flag.withDescription("One JSON line per step on standard output"))
  },
  (options) => runs(() => import("./playground/playground-command.ts"), ({ runPlayground }) => runPlayground(options))
).pipe(Command.withDescription("Starts clusters on this machine, plays one session through all of them and stays up."))

const simulate = Command.make("simulate", simulateFlags, (flags) =>
  runs(() => import("./simulation/command/simulate-command.ts"), ({ runSimulate }) => runSimulate(flags))
).pipe(Command.withDescription("Tells stories of whole installations under virtual time, with faults, and looks for what must never happen."))

const cleanup = Command.make(
  "cleanup",
  {
    waitSecs: Flag.Int("wait-secs").pipe(
      Flag.withDefault(30),
      Flag.withDescription("How long a running operator gets to end the sessions itself, children in other clusters included")
    ),
    bestEffort: Flag.Boolean("best-effort").pipe(
      Flag.withDefault(false),
      Flag.withDescription("End with code 0 even if something is left, as an uninstall wants it")
    )
  },
  (options) => runs(() => import("./cleanup/cleanup-command.ts"), ({ runCleanup }) => runCleanup(options))
).pipe(Command.withDescription("Ends every session of this cluster, before the operator is uninstalled."))

/** How a person's commands find their cluster. */
const clusterFlags = {
  kubeconfig: optionalText("kubeconfig", "Path of a kubeconfig; otherwise KUBECONFIG or ~/.kube/config"),
  context: optionalText("context", "Context of the kubeconfig; otherwise its current one")
}

const doctor = Command.make(
  "doctor",
  {
    ...clusterFlags,
    cluster: optionalText("cluster", "Look at this cluster only"),
    namespace: Flag.String("namespace").pipe(Flag.withAlias("n"), Flag.withDefault("mirrord"), Flag.withDescription("Namespace of the operator, with a kubeconfig")),
    timeoutSecs: Flag.Int("timeout-secs").pipe(
      Flag.filter((seconds) => seconds >= 1, (seconds) => `--timeout-secs: found ${seconds}; give at least 1`),
      Flag.withDefault(10),
      Flag.withDescription("How long connecting, and each answer, may take")
    ),
    output: Flag.Literals("output", ["text", "json"]).pipe(Flag.withAlias("o"), Flag.withDefault("text"), Flag.withDescription("Lines for a person, or JSON"))
  },
  (options) => runs(() => import("./doctor/doctor-command.ts"), ({ runDoctor }) => runDoctor(options))
).pipe(
  Command.withDescription(
    "Says what is wrong with each cluster and what to do: in the operator's pod as the operator, elsewhere with a kubeconfig. Exit code 1 with a failure, 2 when no cluster can be looked at."
  )
)

const overviewFlags = {
  ...clusterFlags,
  output: Flag.Literals("output", ["table", "json", "yaml"]).pipe(Flag.withAlias("o"), Flag.withDefault("table"), Flag.withDescription("A table for a person, JSON or YAML"))
}

const status = Command.make("status", overviewFlags, (options) =>
  runs(() => import("./overview/status-command.ts"), ({ runStatus }) => runStatus(options))
).pipe(Command.withDescription("Shows the operator of a cluster and, of a primary, how its clusters are."))

const sessions = Command.make("sessions", overviewFlags, (options) =>
  runs(() => import("./overview/sessions-command.ts"), ({ runSessions }) => runSessions(options))
).pipe(Command.withDescription("Lists the sessions of a cluster: phase, target, user, how many clusters are ready, and why not."))

const agent = Command.make("agent", { arguments: Argument.String("arguments").pipe(Argument.variadic()) }, () => Effect.void).pipe(
  Command.withDescription("Runs the reference agent; takes the real agent's arguments, such as -l 61337 -t 30 targetless.")
)

/** The real agent's command line is not of our making (`-l PORT -t SECS targeted -c ID`), so it is passed on as it is. */
const runAgent = (argv: ReadonlyArray<string>): Effect.Effect<void> =>
  runs(() => import("./agent/agent-command.ts"), ({ runAgentCommand }) => runAgentCommand(argv))

const braid = Command.make("braid").pipe(
  Command.withDescription("One mirrord session over many Kubernetes clusters."),
  Command.withSubcommands([operator, doctor, status, sessions, playground, simulate, cleanup, agent])
)

/** An interrupted command ends with 130, unless it has said otherwise: to some, Ctrl-C is the end that they wait for. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  Runtime.defaultTeardown(exit, (code) => onExit(code === 130 ? Number(process.exitCode ?? code) : code))

const [command, ...rest] = process.argv.slice(2)
if (command === "agent" && rest[0] !== "--help") NodeRuntime.runMain(runAgent(rest))
else Command.run(braid, { version }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain({ teardown }))

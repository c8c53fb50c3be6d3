#!/usr/bin/env node
/**
 * The program `braid` of the operator's image: its commands, their flags and their help.
 *
 * Not here: the work of a command. Its code stands in `commands` and is loaded only when the command runs.
 */

import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { defaultMinutes } from "../domain/usage/return-on-investment.ts"
import { commandLine } from "./commands/command-line.ts"
import { runs, teardown } from "./commands/run-command.ts"
import { version } from "./kernel/version.ts"

/** A flag with a default, which its help names. */
const byDefault =
  <A extends number | string>(value: A, description: string) =>
  <B>(flag: Flag.Flag<B | A>): Flag.Flag<B | A> =>
    flag.pipe(Flag.withDefault(value), Flag.withDescription(`${description}; default ${value}`))

const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.optional, Flag.map(Option.getOrUndefined), Flag.withDescription(description))

const operator = Command.make("operator", {}, () =>
  runs(
    () => import("./commands/operator-command.ts"),
    ({ runOperator }) => runOperator
  )
).pipe(Command.withDescription("Runs the operator of one cluster, configured by the environment of the chart."))

/** Flags by which a person's commands find their cluster. */
const clusterFlags = {
  kubeconfig: optionalText("kubeconfig", "Path of a kubeconfig; otherwise KUBECONFIG or ~/.kube/config"),
  context: optionalText("context", "Context of the kubeconfig; otherwise its current one")
}

const cleanup = Command.make(
  "cleanup",
  {
    ...clusterFlags,
    apply: Flag.Boolean("apply").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Do it; otherwise it is only printed")
    ),
    waitSecs: Flag.Int("wait-secs").pipe(
      byDefault(
        30,
        "Seconds that a running operator gets to end the sessions itself, children in other clusters included"
      )
    ),
    copies: Flag.Boolean("copies").pipe(
      Flag.withDefault(false),
      Flag.withDescription("End copies of targets too, and give scaled-down workloads their pods back")
    ),
    branches: Flag.Boolean("branches").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Delete branches of databases too")
    ),
    splits: Flag.Boolean("splits").pipe(Flag.withDefault(false), Flag.withDescription("End splits of queues too")),
    splitSecs: Flag.Int("split-secs").pipe(
      byDefault(180, "With --splits: seconds that a running operator gets to end them itself")
    ),
    bestEffort: Flag.Boolean("best-effort").pipe(
      Flag.withDefault(false),
      Flag.withDescription("End with code 0 even if something is left, as an uninstall wants it")
    )
  },
  (options) =>
    runs(
      () => import("./commands/cleanup/cleanup-command.ts"),
      ({ runCleanup }) => runCleanup({ ...options, splitSecs: options.splits ? options.splitSecs : undefined })
    )
).pipe(
  Command.withDescription(
    "Ends every session of a cluster, before the operator is uninstalled. Prints what it would end; --apply ends it."
  )
)

const operatorNamespace = (description: string) =>
  Flag.String("namespace").pipe(Flag.withAlias("n"), byDefault("mirrord", description))

const seconds = (name: string, usual: number, description: string) =>
  Flag.Int(name).pipe(
    Flag.filter(
      (found) => found >= 1,
      (found) => `--${name}: found ${found}; give at least 1`
    ),
    byDefault(usual, description)
  )

const timeoutSecs = seconds("timeout-secs", 10, "Seconds that connecting, and each answer, may take")

/** With the rest of the doctor's work it ends before the pod of `helm test`, which has 300 s. */
const maxTunnelsFor = 240

const tunnelsFor = Flag.Int("tunnels-for").pipe(
  Flag.filter(
    (found) => found >= 1 && found <= maxTunnelsFor,
    (found) => `--tunnels-for: found ${found}; give a whole number of seconds from 1 to ${maxTunnelsFor}`
  ),
  Flag.optional,
  Flag.map(Option.getOrUndefined),
  Flag.withDescription("Seconds for which to watch the tunnels of members that dial out; otherwise not at all")
)

const doctor = Command.make(
  "doctor",
  {
    ...clusterFlags,
    cluster: optionalText("cluster", "Look at this cluster only"),
    namespace: operatorNamespace("Namespace of the operator, with a kubeconfig"),
    timeoutSecs,
    tunnelsFor,
    output: Flag.Literals("output", ["text", "json"]).pipe(
      Flag.withAlias("o"),
      byDefault("text", "Lines for a person, or JSON")
    )
  },
  (options) =>
    runs(
      () => import("./commands/doctor/doctor-command.ts"),
      ({ runDoctor }) => runDoctor(options)
    )
).pipe(
  Command.withDescription(
    "Says what is wrong with each cluster and what to do: in the operator's pod as the operator, elsewhere with " +
      "a kubeconfig. Exit code 1 with a failure, 2 when no cluster can be looked at."
  )
)

const logs = Command.make(
  "logs",
  {
    ...clusterFlags,
    session: optionalText("session", "Only lines about this session: its id, or its name, in all clusters"),
    cluster: optionalText("cluster", "Only this cluster: a member, or the context of the cluster itself"),
    namespace: operatorNamespace("Namespace of the operators"),
    since: optionalText("since", "Only lines of this last time, such as 90s, 5m, 1h30m or 2d"),
    follow: Flag.Boolean("follow").pipe(
      Flag.withAlias("f"),
      Flag.withDefault(false),
      Flag.withDescription("Go on with new lines and new pods, until Ctrl-C")
    ),
    previous: Flag.Boolean("previous").pipe(
      Flag.withAlias("p"),
      Flag.withDefault(false),
      Flag.withDescription("The containers' runs before these, after a crash")
    )
  },
  (options) =>
    runs(
      () => import("./commands/logs/logs-command.ts"),
      ({ runLogs }) => runLogs(options)
    )
).pipe(
  Command.withDescription(
    "Shows the logs of a cluster's operators and of its members' operators by time, with your own rights: members " +
      "as far as the kubeconfig has contexts of their names."
  )
)

const report = Command.make(
  "report",
  {
    ...clusterFlags,
    namespace: operatorNamespace("Namespace of the operators"),
    since: Flag.String("since").pipe(
      Flag.withDefault("1h"),
      Flag.withDescription("How far back the logs go, such as 90s, 5m, 1h30m or 2d")
    ),
    file: Flag.String("output").pipe(
      Flag.withAlias("o"),
      Flag.withDefault("braid-report.tgz"),
      Flag.withDescription("The archive to write; it must not exist yet")
    )
  },
  (options) =>
    runs(
      () => import("./commands/report/report-command.ts"),
      ({ runReport }) => runReport(options)
    )
).pipe(
  Command.withDescription(
    "Writes an archive for people who help: status, sessions, conditions, Events, logs, Leases and configuration " +
      "of a cluster and of its members, with your own rights and without secrets."
  )
)

const overviewFlags = {
  ...clusterFlags,
  output: Flag.Literals("output", ["table", "json", "yaml"]).pipe(
    Flag.withAlias("o"),
    byDefault("table", "A table for a person, JSON or YAML")
  )
}

const watchFlags = {
  ...overviewFlags,
  watch: Flag.Boolean("watch").pipe(
    Flag.withAlias("w"),
    Flag.withDefault(false),
    Flag.withDescription("Show it again whenever it has changed, until Ctrl-C")
  )
}

const status = Command.make("status", watchFlags, (options) =>
  runs(
    () => import("./commands/overview/status-command.ts"),
    ({ runStatus }) => runStatus(options)
  )
).pipe(Command.withDescription("Shows the operator of a cluster and, of a primary, how its clusters are."))

const versions = Command.make(
  "version",
  {
    ...overviewFlags,
    client: Flag.Boolean("client").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Only this program; ask no cluster")
    )
  },
  (options) =>
    runs(
      () => import("./commands/overview/version-command.ts"),
      ({ runVersion }) => runVersion(options)
    )
).pipe(
  Command.withDescription(
    "Shows the versions of this program and of the operators of a cluster and of its members, and the protocol that " +
      "each speaks."
  )
)

const clusters = Command.make("clusters", overviewFlags, (options) =>
  runs(
    () => import("./commands/overview/clusters-command.ts"),
    ({ runClusters }) => runClusters(options)
  )
).pipe(
  Command.withDescription(
    "Lists the clusters of a primary: whether each is ready, its credentials, its sessions, why not."
  )
)

const stopSessions = Command.make(
  "stop",
  {
    ...overviewFlags,
    ids: Argument.String("id").pipe(
      Argument.variadic({ min: 1 }),
      Argument.withDescription("A session as braid sessions or mirrord session list shows it")
    )
  },
  (options) =>
    runs(
      () => import("./commands/overview/stop-sessions-command.ts"),
      ({ runStopSessions }) => runStopSessions(options)
    )
).pipe(Command.withDescription("Ends sessions for good, as mirrord operator session stop does."))

const sessions = Command.make("sessions", watchFlags, (options) =>
  runs(
    () => import("./commands/overview/sessions-command.ts"),
    ({ runSessions }) => runSessions(options)
  )
).pipe(
  Command.withDescription(
    "Lists the sessions of a cluster: phase, target, user, how many clusters are ready, and why not."
  ),
  Command.withSubcommands([stopSessions])
)

const branches = Command.make(
  "branches",
  {
    ...overviewFlags,
    namespace: optionalText("namespace", "Only this namespace; otherwise all that you may read").pipe(
      Flag.withAlias("n")
    ),
    allNamespaces: Flag.Boolean("all-namespaces").pipe(
      Flag.withAlias("A"),
      Flag.withDefault(false),
      Flag.withDescription("All namespaces, or an error if you may not read them")
    )
  },
  (options) =>
    runs(
      () => import("./commands/overview/branches-command.ts"),
      ({ runBranches }) => runBranches(options)
    )
).pipe(
  Command.withDescription(
    "Lists branches of databases: their clusters, phases, times and users, and why they failed. Of a primary also " +
      "those of members for which the kubeconfig has contexts."
  )
)

const queues = Command.make(
  "queues",
  {
    ...overviewFlags,
    namespace: optionalText("namespace", "Only this namespace; otherwise all").pipe(Flag.withAlias("n"))
  },
  (options) =>
    runs(
      () => import("./commands/overview/queues-command.ts"),
      ({ runQueues }) => runQueues(options)
    )
).pipe(
  Command.withDescription(
    "Lists queues that are split: their workloads, phases, sessions, main queues and pods (patched/ready/all). JSON " +
      "and YAML have the users and the filters of the sessions too."
  )
)

const usage = Command.make(
  "usage",
  {
    ...clusterFlags,
    from: optionalText(
      "from",
      "Only sessions that began then or later: a date, or a time such as 2026-11-01T08:00:00Z"
    ),
    to: optionalText("to", "Only sessions that began before; a date is the whole day"),
    by: Flag.Literals("by", ["machine_id", "username", "client_username", "client_hostname"]).pipe(
      byDefault("machine_id", "By what users are told apart")
    ),
    userMinutes: Flag.String("user-minutes").pipe(
      byDefault(String(defaultMinutes), "Minutes that a session of a person saves, for the table")
    ),
    ciMinutes: Flag.String("ci-minutes").pipe(
      byDefault(String(defaultMinutes), "Minutes that a session of CI saves, for the table")
    ),
    format: Flag.Literals("format", ["table", "json", "csv", "xlsx"]).pipe(
      byDefault("table", "A table for a person, JSON, or a file for spreadsheets")
    ),
    output: optionalText("output", "The file to write json, csv or xlsx to; otherwise standard output")
  },
  (options) =>
    runs(
      () => import("./commands/overview/usage-command.ts"),
      ({ runUsage }) => runUsage(options)
    )
).pipe(
  Command.withDescription("Reports who used a primary, for what and how much, if it records that (dashboard.enabled).")
)

const off = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDefault(false), Flag.withDescription(description))

/** Flags of the commands that are about a primary and one other cluster. */
const memberFlags = {
  ...overviewFlags,
  context: optionalText("context", "Context of the primary; otherwise the current one"),
  namespace: operatorNamespace("Namespace of the primary's operator"),
  memberKubeconfig: optionalText(
    "member-kubeconfig",
    "Path of the member's kubeconfig; otherwise that of --kubeconfig"
  ),
  memberContext: optionalText("member-context", "Context of the member; otherwise the one with the cluster's name"),
  memberNamespace: Flag.String("member-namespace").pipe(byDefault("mirrord", "Namespace of the member's operator")),
  apply: off("apply", "Do it; otherwise it is only printed")
}

const nameOfCluster = (description: string) => Argument.String("name").pipe(Argument.withDescription(description))

const join = Command.make(
  "join",
  {
    ...memberFlags,
    name: nameOfCluster("Name of the cluster in the fleet; for eks that of the EKS cluster"),
    outbound: off("outbound", "Make a token for a member that dials the primary, which cannot reach it"),
    renew: off("renew", "Make another token for such a member; its present certificate is refused once it is used"),
    cell: optionalText("cell", "Host and port of the primary's tunnels as the member reaches them, for --outbound"),
    bootstrap: optionalText("bootstrap", "Host and port at which the primary takes the token; port 8444 of the cell"),
    provider: Flag.Literals("provider", ["token", "mtls", "eks", "aks"]).pipe(
      byDefault("token", "How the primary proves who it is to the member")
    ),
    server: optionalText("server", "URL of the member's API server, as the primary reaches it"),
    caFile: optionalText("ca-file", "File with the CA of that API server, PEM"),
    clientCertificate: optionalText("client-certificate", "File with the primary's certificate, for mtls"),
    clientKey: optionalText("client-key", "File with its key, without a passphrase"),
    region: optionalText("region", "AWS region of the cluster, for eks"),
    tenantId: optionalText("tenant-id", "Azure tenant, for aks, if it is not that of the operator's pod"),
    clientId: optionalText("client-id", "Azure client, for aks, if it is not that of the operator's pod"),
    group: optionalText("group", "Group of the EKS access entry, or object id of the Entra group"),
    showSecrets: off("show-secrets", "Print the credentials as well"),
    wait: off("wait", "Wait until the primary is connected to the cluster; with --apply"),
    waitSecs: seconds("wait-secs", 300, "Seconds to wait; a kubelet takes up to two minutes alone"),
    timeoutSecs
  },
  (options) =>
    runs(
      () => import("./commands/join/join-command.ts"),
      ({ runJoin }) => runJoin(options)
    )
).pipe(
  Command.withDescription(
    "Makes a cluster a member of a primary's fleet: tries its credentials and prints what both sides need; --apply " +
      "writes it. The chart must run in both."
  )
)

const leave = Command.make(
  "leave",
  {
    ...memberFlags,
    name: nameOfCluster("Name of the cluster in the fleet"),
    force: off("force", "Leave although sessions use the cluster, or although it cannot be reached")
  },
  (options) =>
    runs(
      () => import("./commands/join/leave-command.ts"),
      ({ runLeave }) => runLeave(options)
    )
).pipe(
  Command.withDescription(
    "Takes a cluster out of a primary's fleet: its entry, Secrets and identity at the primary, and the Lease that it " +
      "keeps for this primary. Prints what it would remove; --apply removes it."
  )
)

const kubeconfig = Command.make(
  "kubeconfig",
  { ...clusterFlags, name: nameOfCluster("Name of the cluster in the fleet; its operator dials the primary") },
  (options) =>
    runs(
      () => import("./commands/kubeconfig-command.ts"),
      ({ runKubeconfig }) => runKubeconfig(options)
    )
).pipe(
  Command.withDescription(
    "Prints a kubeconfig for a cluster that dials its primary: kubectl reaches it through the primary, with your own " +
      "credentials there."
  )
)

/** Flags of pages on this machine. `defaultPort`: where a page is unless another port is asked for or it is taken. */
const pageFlags = (defaultPort: number) => ({
  ...clusterFlags,
  port: Flag.Int("port").pipe(
    Flag.filter(
      (found) => found >= 0 && found <= 65_535,
      (found) => `--port: found ${found}; give 0 to 65535, 0 for any free port`
    ),
    Flag.optional,
    Flag.map(Option.getOrUndefined),
    Flag.withDescription(`Port of 127.0.0.1; otherwise ${defaultPort}, or any free one if that is taken`)
  ),
  noBrowser: off("no-browser", "Only print the link; open no browser")
})

const uiFlags = pageFlags(59_281)

const uiStart = Command.make("start", uiFlags, ({ context, kubeconfig: file, noBrowser, port }) =>
  runs(
    () => import("./commands/ui/background-ui.ts"),
    ({ runUiStart }) => {
      const given = Object.entries({ context, kubeconfig: file, port }).filter(([, value]) => value !== undefined)
      return runUiStart(
        given.map(([name, value]) => `--${name}=${value}`),
        noBrowser
      )
    }
  )
).pipe(
  Command.withDescription("Serves the page in the background, and ends at once; prints the link if it runs already.")
)

const uiStop = Command.make("stop", {}, () =>
  runs(
    () => import("./commands/ui/background-ui.ts"),
    ({ runUiStop }) => runUiStop
  )
).pipe(Command.withDescription("Ends the page that holds the API of this machine, in the background or not."))

const ui = Command.make("ui", uiFlags, (options) =>
  runs(
    () => import("./commands/ui/ui-command.ts"),
    ({ runUi }) => runUi({ ...options, opens: "fleet", withApi: true })
  )
).pipe(
  Command.withDescription(
    "Serves a live page of the fleet and its sessions on this machine, with your own rights, until Ctrl-C, and the " +
      "API that mirrord's browser extension reads. Prints a link that opens the page."
  ),
  Command.withSubcommands([uiStart, uiStop])
)

const dashboard = Command.make("dashboard", pageFlags(59_282), (options) =>
  runs(
    () => import("./commands/ui/ui-command.ts"),
    ({ runDashboard }) => runDashboard(options)
  )
).pipe(
  Command.withDescription(
    "Serves a page of who uses a primary, for what and how much, on this machine, with your own rights, until " +
      "Ctrl-C. The operator must record it (dashboard.enabled). Prints a link that opens the page."
  )
)

const braid = Command.make("braid").pipe(
  Command.withDescription("One mirrord session over many Kubernetes clusters."),
  Command.withSubcommands([
    operator,
    doctor,
    status,
    clusters,
    sessions,
    ui,
    dashboard,
    branches,
    queues,
    usage,
    logs,
    report,
    join,
    leave,
    kubeconfig,
    cleanup,
    versions
  ])
)

Command.run(braid, { version }).pipe(
  Effect.provide([NodeServices.layer, commandLine]),
  NodeRuntime.runMain({ teardown })
)

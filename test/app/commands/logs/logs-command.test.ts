import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Fiber, Result } from "effect"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { parse, stringify } from "yaml"
import { ContainerLog } from "../../../../lab/cluster/node/container-log.ts"
import { type LogsOptions, showLogs } from "../../../../src/app/commands/logs/logs-command.ts"
import { lineSource } from "../../../../src/domain/commands/overview/log-lines.ts"
import { asObjects, at } from "../../../../src/domain/json.ts"
import { type RunningCluster, runCluster } from "../../../lab/cluster/running-cluster.ts"
import { operatorObjects } from "../../../support/operator-objects.ts"
import { runBraid } from "../../../support/run-braid.ts"
import { until } from "../../../support/until.ts"

const patience = 300_000
const session = "mc-00000000000000ff"

/** A cluster whose pods log what a test makes them log. */
interface LoggingCluster {
  readonly running: RunningCluster
  readonly logs: Map<string, ContainerLog>
  readonly previous: Map<string, ContainerLog>
}

const pod = (name: string, sidecar = false): string =>
  stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "mirrord", labels: { app: "mirrord-operator" } },
    spec: {
      nodeName: "node",
      containers: [
        ...(sidecar ? [{ name: "proxy", image: "x" }] : []),
        { name: sidecar ? "mirrord-operator" : "operator", image: "x" }
      ]
    }
  })

const start = async (name: string): Promise<LoggingCluster> => {
  const running = await runCluster({ name })
  const cluster: LoggingCluster = { running, logs: new Map(), previous: new Map() }
  running.cluster.apply(stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "mirrord" } }))
  running.cluster.setPodLogs((_, podName, container, options) => {
    const log = (options.previous ? cluster.previous : cluster.logs).get(podName)
    return log === undefined
      ? `previous terminated container "${container}" in pod "${podName}" not found`
      : log.read(options)
  })
  return cluster
}

describe("braid logs", () => {
  let directory: string
  let kubeconfig: string
  let primary: LoggingCluster
  let member: LoggingCluster
  /** The time of all nodes, epoch ms. */
  let time = Date.UTC(2026, 0, 2, 3, 4, 5)

  const newLog = ({ logs }: LoggingCluster, name: string): ContainerLog => {
    const log = new ContainerLog(() => time)
    logs.set(name, log)
    return log
  }
  const write = (log: ContainerLog, line: string): void => {
    time += 7
    log.append(line)
  }

  const options = (more: Partial<LogsOptions> = {}): LogsOptions => ({
    kubeconfig,
    context: undefined,
    session: undefined,
    cluster: undefined,
    namespace: "mirrord",
    since: undefined,
    follow: false,
    previous: false,
    ...more
  })

  const collecting = () => {
    const lines: Array<string> = []
    const notes: Array<string> = []
    const problems: Array<string> = []
    return {
      lines,
      notes,
      problems,
      output: {
        line: (line: Parameters<typeof lineSource>[0] & { readonly text: string }) =>
          void lines.push(`${lineSource(line)} ${line.text}`),
        note: (note: string) => void notes.push(note),
        problem: (problem: { readonly message: string; readonly fix: string }) =>
          void problems.push(`${problem.message} ${problem.fix}`)
      }
    }
  }

  const shown = async (more: Partial<LogsOptions> = {}) => {
    const { output, ...seen } = collecting()
    return { ...seen, isRead: await Effect.runPromise(showLogs(options(more), output)) }
  }
  const refusal = async (more: Partial<LogsOptions>): Promise<unknown> =>
    Effect.runPromise(Effect.result(showLogs(options(more), collecting().output)))

  /** A kubeconfig of several clusters, each under its own name. */
  const joined = async (contexts: Readonly<Record<string, string>>, name: string): Promise<string> => {
    const configs = await Promise.all(
      Object.entries(contexts).map(async ([context, path]) => {
        const config: unknown = parse(await readFile(path, "utf8"))
        const first = (field: string, inner: string) => at(asObjects(at(config, field))[0], inner)
        return {
          cluster: { name: context, cluster: first("clusters", "cluster") },
          user: { name: context, user: first("users", "user") },
          context: { name: context, context: { cluster: context, user: context } }
        }
      })
    )
    const path = join(directory, name)
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: configs.map(({ cluster }) => cluster),
      users: configs.map(({ user }) => user),
      contexts: configs.map(({ context }) => context),
      "current-context": Object.keys(contexts)[0]
    }
    await writeFile(path, stringify(config))
    return path
  }

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "braid-logs-"))
    ;[primary, member] = await Promise.all([start("primary"), start("cluster-a")])
    for (const object of operatorObjects(["cluster-a", "cluster-b"])) primary.running.cluster.apply(stringify(object))
    for (const name of ["leader", "standby"]) primary.running.cluster.apply(pod(name, true))
    member.running.cluster.apply(pod("operator"))
    kubeconfig = await joined(
      { primary: primary.running.cluster.kubeconfigPath, "cluster-a": member.running.cluster.kubeconfigPath },
      "both.kubeconfig"
    )
  })
  afterAll(async () => {
    await Promise.all([primary.running.close(), member.running.close()])
    await rm(directory, { recursive: true, force: true })
  })
  beforeEach(() => {
    const [leader, standby, operator] = [
      newLog(primary, "leader"),
      newLog(primary, "standby"),
      newLog(member, "operator")
    ]
    write(standby, "message=started")
    write(leader, `message="session connected" session=${session}`)
    write(operator, `message="agent not started" session=${session}-cluster-a`)
    write(leader, "message=other session=mc-00000000000000fe")
    write(leader, `message="session failed" session=${session}`)
  })
  afterEach(() => {
    for (const { logs, previous } of [primary, member]) {
      logs.clear()
      previous.clear()
    }
  })

  it("shows the operators of all clusters that it reaches by time, and says which it does not reach", async () => {
    expect(await shown()).toEqual({
      lines: [
        "primary/standby message=started",
        `primary/leader message="session connected" session=${session}`,
        `cluster-a/operator message="agent not started" session=${session}-cluster-a`,
        "primary/leader message=other session=mc-00000000000000fe",
        `primary/leader message="session failed" session=${session}`
      ],
      notes: [
        'cluster-b is left out. The kubeconfig has no context for cluster "cluster-b". Make one of that name: ' +
          "kubectl config set-context cluster-b --cluster=CLUSTER --user=USER."
      ],
      problems: [],
      isRead: true
    })
  })

  it("shows the way of one session through primary and members, or one cluster", async () => {
    expect((await shown({ session: "ff" })).lines).toEqual([
      `primary/leader message="session connected" session=${session}`,
      `cluster-a/operator message="agent not started" session=${session}-cluster-a`,
      `primary/leader message="session failed" session=${session}`
    ])
    const { lines, notes } = await shown({ cluster: "cluster-a" })
    expect([lines, notes]).toEqual([
      [`cluster-a/operator message="agent not started" session=${session}-cluster-a`],
      []
    ])
    expect((await shown({ cluster: "primary", session: "mc-00000000000000fe" })).lines).toEqual([
      "primary/leader message=other session=mc-00000000000000fe"
    ])
    expect(await shown({ session: "1234" })).toMatchObject({
      lines: [],
      isRead: false,
      problems: [expect.stringMatching(/^There are no such lines\. Leave --since or --session out/u)]
    })
  })

  it("shows the run before a crash, and says where there was none", async () => {
    const crashed = new ContainerLog(() => time)
    write(crashed, "message=dying")
    primary.previous.set("leader", crashed)
    expect(await shown({ previous: true, cluster: "primary" })).toEqual({
      lines: ["primary/leader message=dying"],
      notes: [],
      problems: [
        'primary: There is no such log: previous terminated container "mirrord-operator" in pod "standby" not found. ' +
          "Look at the pod: kubectl describe pod."
      ],
      isRead: true
    })
  })

  it("shows what was logged since, in the API server's time", async () => {
    const { cluster } = primary.running
    const since: Array<number | undefined> = []
    cluster.setPodLogs((_, name, __, read) => {
      since.push(read.since)
      return primary.logs.get(name)?.read(read)
    })
    const before = Date.now()
    await shown({ since: "1h30m", cluster: "primary" })
    expect(since).toHaveLength(2)
    for (const asked of since) expect(asked).toBeGreaterThanOrEqual(before - 5_400_000)
    cluster.setPodLogs(
      (_, name, __, read) => (read.previous ? primary.previous : primary.logs).get(name)?.read(read) ?? "no log"
    )
  })

  it(
    "follows: lines come once, whatever ends in between, and from pods that start later",
    async () => {
      const { lines, output, problems } = collecting()
      const following = Effect.runFork(showLogs(options({ follow: true, session: "ff" }), output))
      await until("the lines until now", () => (lines.length === 3 ? true : undefined))
      const say = (cluster: LoggingCluster, name: string, message: string): void => {
        const log = cluster.logs.get(name) ?? newLog(cluster, name)
        write(log, `message=${message} session=${session}`)
        write(log, "message=other")
      }
      const hears = (line: string) =>
        until(line, () => (lines.includes(`${line} session=${session}`) ? true : undefined))
      say(primary, "leader", "one")
      await hears("primary/leader message=one")
      // The container ends and runs again; its node still has the lines from before.
      primary.logs.get("leader")?.end()
      const again = newLog(primary, "leader")
      write(again, `message=two session=${session}`)
      await hears("primary/leader message=two")
      member.running.cluster.apply(pod("late"))
      say(member, "late", "three")
      await hears("cluster-a/late message=three")
      await Effect.runPromise(Fiber.interrupt(following))
      expect(lines).toEqual([...new Set(lines)])
      expect(lines).toHaveLength(6)
      expect(problems).toEqual([])
      await member.running.admin.delete("/api/v1/namespaces/mirrord/pods/late?gracePeriodSeconds=0")
    },
    patience
  )

  it("names the missing right: to list pods, and to read logs", async () => {
    const { cluster } = primary.running
    const path = join(directory, "eve.kubeconfig")
    await Effect.runPromise(cluster.userKubeconfig({ user: "eve", path }))
    const eve = await joined({ primary: path }, "eve-named.kubeconfig")
    const fix = "Ask for a Role with the verb list of pods and the verb get of pods/log in namespace mirrord."
    const refused = await shown({ kubeconfig: eve, cluster: "primary" })
    expect(refused.problems).toEqual([
      `primary: You may not list pods (verb list of pods) in namespace mirrord. ${fix}`
    ])
    expect(refused.isRead).toBe(false)
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "lists", namespace: "mirrord" },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }]
    }
    const binding = {
      ...role,
      kind: "RoleBinding",
      rules: undefined,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "lists" },
      subjects: [{ kind: "User", name: "eve" }]
    }
    for (const object of [role, binding]) cluster.apply(stringify(object))
    const unread = await shown({ kubeconfig: eve })
    expect(unread.problems).toEqual([
      `primary: You may not read logs (verb get of pods/log) in namespace mirrord. ${fix}`
    ])
    // Without the operator's object the members are not known, which is said.
    expect(unread.notes).toEqual([
      expect.stringMatching(/^The members, if there are any, are not known, and left out\. You may not read/u)
    ])
  })

  it("refuses what it cannot do, and says what would be right", async () => {
    const failed = (message: string, fix: string) =>
      Result.fail({ message: expect.stringContaining(message), fix: expect.stringContaining(fix) })
    expect(await refusal({ cluster: "nowhere" })).toEqual(
      failed('There is no cluster "nowhere".', "Name one of primary, cluster-a, cluster-b.")
    )
    expect(await refusal({ cluster: "cluster-b" })).toEqual(
      failed('The kubeconfig has no context for cluster "cluster-b".', "kubectl config set-context cluster-b")
    )
    expect(await refusal({ since: "5x" })).toEqual(failed('--since: found "5x"', "90s, 5m, 1h30m or 2d"))
    expect(await refusal({ session: "shop" })).toEqual(failed('--session: "shop" names no session', "braid sessions"))
    expect(await refusal({ follow: true, previous: true })).toEqual(failed("exclude each other", "Leave one"))
    expect((await shown({ namespace: "elsewhere", cluster: "primary" })).problems).toEqual([
      "primary: There is no pod of an operator (label app=mirrord-operator) in namespace elsewhere. Name the " +
        "operator's namespace with --namespace, or install the chart."
    ])
  })

  it(
    "is a command: lines on standard output without colours when that is no terminal, and an exit code",
    async () => {
      const { code, errors, output } = await runBraid(["logs", "--kubeconfig", kubeconfig, "--session", "fe"])
      expect([code, output]).toEqual([0, "primary/leader  message=other session=mc-00000000000000fe\n"])
      expect(errors).toMatch(/^braid: cluster-b is left out\. .*\n$/u)
      const wrong = await runBraid(["logs", "--kubeconfig", kubeconfig, "--since", "soon"])
      expect([wrong.code, wrong.output]).toEqual([1, ""])
      expect(wrong.errors).toBe(
        'braid: --since: found "soon", which is no time span.\n' +
          "fix: Give numbers with units, the largest first, such as 90s, 5m, 1h30m or 2d.\n"
      )
    },
    patience
  )
})

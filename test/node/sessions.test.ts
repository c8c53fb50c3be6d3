import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import type { KubeObject } from "../../lab/cluster/schema/kube-object.ts"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { processesWith } from "../../lab/playground/branches/home-processes.ts"
import { postgresqlFolder } from "../../lab/playground/branches/postgresql.ts"
import { operatorNamespace, workloadNamespace, workloadTarget } from "../../lab/playground/manifests.ts"
import { nodeImages } from "../../lab/playground/node/node-files.ts"
import type { RunningNode } from "../../lab/playground/node/node-playground.ts"
import { copyLabel } from "../../src/domain/copies/copy-record.ts"
import { asObjects, asString, at } from "../../src/domain/json.ts"
import { describeReal, request, runClient, type RunningCommand } from "../real/harness.ts"
import { parents } from "../real/sessions.ts"
import { attempts } from "../support/attempts.ts"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { exceedMemory } from "./exceed-memory.ts"
import { answersAt, useNodeSessions } from "./node-sessions.ts"
import { kubectl } from "./nodes.ts"
import { variablesObjects, variablesSeen, variablesTarget } from "./variables-workload.ts"

/** The major version of this machine's PostgreSQL, of which the image is. */
const serverVersion = (): string => basename(dirname(postgresqlFolder ?? ""))

const psql = async (url: URL, query: string): Promise<string> =>
  (await promisify(execFile)(join(postgresqlFolder ?? "", "psql"), [url.href, "-At", "-c", query])).stdout

/** A database of two rows, and the Secret by which the workload finds it. */
const sourceObjects = (version: string): string => {
  const labels = { app: "db" }
  const serve = [
    "initdb -D /tmp/data -U engine -A trust > /dev/null",
    "postgres -D /tmp/data -c listen_addresses='*' -c unix_socket_directories= & server=$!",
    "until psql -h 127.0.0.1 -U engine -c 'create database shop' postgres; do sleep 0.2; done",
    "psql -h 127.0.0.1 -U engine -c 'create table items (id int primary key); insert into items values (1), (2)' shop",
    "echo 'host all all all trust' >> /tmp/data/pg_hba.conf; kill -HUP $server; echo > /tmp/ready; wait $server"
  ].join("\n")
  const container = {
    name: "db",
    image: `docker.io/library/postgres:${version}`,
    command: ["sh", "-c", serve],
    securityContext: { runAsUser: 999, runAsGroup: 999 },
    readinessProbe: { exec: { command: ["cat", "/tmp/ready"] }, periodSeconds: 1 }
  }
  return [
    { apiVersion: "v1", kind: "Secret", metadata: { name: "db" }, stringData: { url: "postgresql://engine@db/shop" } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "db" },
      spec: { selector: labels, ports: [{ port: 5432 }] }
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "db" },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } }
    }
  ]
    .map((object) => JSON.stringify(object))
    .join("\n---\n")
}

const copied = ["job/report", "cronjob/nightly"] as const

/** A Job that runs, and a CronJob whose time never comes. */
const batchObjects = (cluster: string): string => {
  const spec = (target: (typeof copied)[number]): object => ({
    template: {
      spec: {
        restartPolicy: "Never",
        containers: [
          {
            name: "report",
            image: nodeImages.demo,
            env: [{ name: "CLUSTER", value: `${target} of ${cluster}` }],
            volumeMounts: [{ name: "files", mountPath: "/etc/report", subPath: "report" }]
          }
        ],
        volumes: [{ name: "files", configMap: { name: "report" } }]
      }
    }
  })
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "report" }, data: { report: cluster } },
    { apiVersion: "batch/v1", kind: "Job", metadata: { name: "report" }, spec: spec("job/report") },
    {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "nightly" },
      spec: { schedule: "0 3 * * *", suspend: true, jobTemplate: { spec: spec("cronjob/nightly") } }
    }
  ]
    .map((object) => JSON.stringify(object))
    .join("\n---\n")
}

/** The patch that gives the demo workload the database's URL. */
const withDatabase = {
  spec: {
    template: {
      spec: {
        containers: [
          { name: "myapp", env: [{ name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "db", key: "url" } } }] }
        ]
      }
    }
  }
}

describeReal(
  "mirrord's own client and agent on real nodes, in two clusters",
  ["mirrord", "layerApp"],
  ({ layerApp, mirrord }) => {
    const nodes = useNodeSessions({ layerApp, mirrord })
    const { agents, clusters, exec, home: newHome, install, named, primary } = nodes

    /** Waits until requests that enter at each cluster get this answer. An agent's first rules may cut a connection. */
    const answerEverywhere = async (path: string, wanted: (cluster: string) => string, headers = {}): Promise<void> => {
      for (const { description, entry = "" } of clusters())
        await answersAt(entry, path, wanted(description.name), headers)
    }
    const local = (path: string) => (): string => `layer-app ${path}`
    const own =
      (path: string) =>
      (cluster: string): string =>
        `hello from ${cluster}: GET ${path}`
    /** Ends the session, and waits until every pod answers for itself and no agent is left. */
    const end = async (session: RunningCommand): Promise<void> => {
      await nodes.end(session)
      await answerEverywhere("/after", own("/after"))
    }

    const operatorPod = (): KubeObject | undefined =>
      primary()
        .cluster.store.list(pods, { namespace: operatorNamespace })
        .items.find(({ metadata: { name } }) => name?.startsWith("mirrord-operator-"))
    const podsOf = ({ cluster: { store } }: RunningNode, labelSelector: string): ReadonlyArray<KubeObject> =>
      store.list(pods, { namespace: workloadNamespace, labelSelector }).items

    it("steals a port in every pod; environment, files, names and connections are the default cluster's", async () => {
      await kubectl(named("cluster-b").cluster, "scale", workloadTarget, "--replicas=2")
      await kubectl(named("cluster-b").cluster, "rollout", "status", workloadTarget)
      const session = exec([
        ...["--env", "CLUSTER", "--read", "/etc/myapp/settings.txt", "--resolve", "myapp", "--connect", "myapp:7000"],
        ...["--steal", "80"]
      ])
      expect(await session.waitForEvent("env")).toMatchObject({ name: "CLUSTER", value: "cluster-a" })
      expect(await session.waitForEvent("file")).toMatchObject({ text: "settings of cluster-a\n" })
      expect(await session.waitForEvent("resolve")).toMatchObject({ name: "myapp", addresses: [expect.any(String)] })
      expect(await session.waitForEvent("connect")).toMatchObject({ reply: "hello from cluster-a\n" })
      expect(await session.waitForEvent("subscribed")).toMatchObject({ ok: true })
      await answerEverywhere("/stolen", local("/stolen"))
      const { entry = "" } = named("cluster-b")
      // Service and proxy choose a pod for each connection.
      for (let count = 0; count < 10; count++) await answersAt(entry, `/${count}`, `layer-app /${count}`)
      expect(agents(named("cluster-b")).length).toBeGreaterThanOrEqual(2)
      await end(session)
    })

    it("steals what a filter by header names; the pods answer the rest", async () => {
      const session = exec(["--steal", "80:^x-user: ann$"])
      expect(await session.waitForEvent("subscribed")).toMatchObject({ ok: true })
      await answerEverywhere("/ann", local("/ann"), { "x-user": "ann" })
      await answerEverywhere("/bob", own("/bob"), { "x-user": "bob" })
      await end(session)
    })

    it("mirrors: the pods answer, and the local process sees the requests of both clusters", async () => {
      const session = exec(["--mirror", "80"])
      expect(await session.waitForEvent("subscribed")).toMatchObject({ ok: true })
      for (const { description, entry = "" } of clusters()) {
        const path = `/${description.name}`
        await eventually(`a mirrored request of ${description.name}`, async () => {
          expect(await request(entry, path)).toContain(own(path)(description.name))
          expect(session.events().some((event) => event.event === "request" && event["path"] === path)).toBe(true)
        })
      }
      await end(session)
    })

    it("goes on when the operator outgrows its memory, and when a node's kubelet is away", async () => {
      const session = exec(["--steal", "80"])
      expect(await session.waitForEvent("subscribed")).toMatchObject({ ok: true })
      await answerEverywhere("/before", local("/before"))
      const [parent] = parents(nodes.playground())
      const pod = operatorPod()
      const [pid = 0] = processesWith("OPERATOR_POD_UID", pod?.metadata.uid ?? "")
      // All stolen requests go through it.
      await exceedMemory(pid, () => request(primary().entry ?? "", `/${"long".repeat(2_000)}`, {}, attempts()()))
      await session.waitForEvent("resubscribed")
      await answerEverywhere("/again", local("/again"))
      expect(operatorPod()?.metadata.uid).toBe(pod?.metadata.uid)
      expect(parents(nodes.playground()).map(({ metadata }) => metadata.uid)).toEqual([parent?.metadata.uid])
      const { cluster } = named("cluster-b")
      await cluster.stopKubelet()
      await kubectl(cluster, "wait", "--for=condition=Ready=Unknown", "node/cluster-b", "--timeout=300s")
      await answerEverywhere("/unready", local("/unready"))
      await cluster.startKubelet()
      await kubectl(cluster, "wait", "--for=condition=Ready", "node/cluster-b", "--timeout=300s")
      await end(session)
    })

    it("copies a target and scales it down; afterwards the workload is as it was", async () => {
      const session = exec(["--env", "CLUSTER", "--steal", "80"], {
        settings: { feature: { copy_target: { enabled: true, scale_down: true } } }
      })
      expect(await session.waitForEvent("subscribed")).toMatchObject({ ok: true })
      const scaled = (): unknown =>
        JSON.parse(
          JSON.stringify(
            primary().cluster.store.get(
              { group: "apps", version: "v1", resource: "deployments" },
              workloadNamespace,
              "myapp"
            )?.["spec"] ?? {}
          )
        )
      await until("the scale-down", () => (at(scaled(), "replicas") === 0 ? true : undefined))
      await answerEverywhere("/copied", local("/copied"))
      session.stop("SIGTERM")
      await session.ended()
      await until("the workload's return", () => (at(scaled(), "replicas") === 1 ? true : undefined))
      await answerEverywhere("/after", own("/after"))
    })

    it("gives the default cluster's variables of every source, as they were when the container started", async () => {
      const ranImage = asString(at(asObjects(at(operatorPod(), "spec", "containers"))[0], "image")) ?? ""
      for (const { cluster, description } of clusters()) {
        await cluster.plane.apply(variablesObjects(description.name, ranImage))
        await kubectl(cluster, "rollout", "status", variablesTarget, "--timeout=300s")
      }
      const session = runClient({
        file: mirrord,
        args: ["exec", "--target", variablesTarget, "--", "env"],
        home: newHome("variables"),
        kubeconfig: nodes.kubeconfig()
      })
      expect(await session.ended(), session.stderr()).toBe(0)
      // The internal proxy waits for ever for a program with the layer, and the session lives as long.
      session.stop()
      const seen = Object.fromEntries(
        session
          .stdout()
          .split("\n")
          .map((line) => line.split(/=(.*)/u))
      )
      const [pod] = podsOf(primary(), "app=variables")
      const [name, address] = [pod?.metadata.name ?? "", asString(at(pod, "status", "podIP")) ?? ""]
      expect(seen).toMatchObject(variablesSeen("cluster-a", { name, address }))
      expect(Object.keys(seen)).not.toContain("NOT_THERE")
      expect(session.stdout()).not.toMatch(/of cluster-b|ONLY_cluster_b/u)
    })

    it("copies a Job that runs and a CronJob that does not in each cluster, and leaves both as they were", async () => {
      for (const { cluster, description } of clusters()) {
        await cluster.plane.apply(batchObjects(description.name))
        await kubectl(cluster, "wait", "--for=condition=Ready", "pod", "-l", "job-name=report", "--timeout=300s")
      }
      const own = () => clusters().flatMap((node) => podsOf(node, "job-name").map(({ metadata: { uid } }) => uid))
      const before = own()
      expect(before).toHaveLength(2)
      const sessions = copied.map((target) => {
        const actions = ["--env", "CLUSTER", "--read", "/etc/report", "--steal", "80", "--respond", target]
        return exec(actions, { target, settings: { feature: { copy_target: { enabled: true } } } })
      })
      for (const [index, session] of sessions.entries()) {
        expect(await session.waitForEvent("env")).toMatchObject({ value: `${copied[index]} of cluster-a` })
        expect(await session.waitForEvent("file")).toMatchObject({ text: "cluster-a" })
        expect(await session.waitForEvent("subscribed")).toMatchObject({ ok: true })
      }
      for (const node of clusters()) {
        const entries = podsOf(node, copyLabel).map(async (copy) => {
          const host = asString(at(copy, "status", "podIP")) ?? ""
          return `http://127.0.0.1:${await node.cluster.world.forward({ host, port: 80 })}`
        })
        const ask = async (entry: Promise<string>) => request(await entry, "/copied", {}, attempts()())
        await eventually(`the answers of copies in ${node.description.name}`, async () =>
          expect((await Promise.all(entries.map(ask))).toSorted()).toEqual(
            copied.map((target) => `${target} /copied\n`).toSorted()
          )
        )
      }
      for (const session of sessions) session.stop("SIGTERM")
      await until("the end of the copies", () =>
        clusters().flatMap((node) => podsOf(node, copyLabel)).length === 0 ? true : undefined
      )
      expect(own()).toEqual(before)
      for (const session of sessions) await nodes.end(session)
    })

    it("makes a branch of a PostgreSQL in the default cluster, and the source stays as it is", async () => {
      const { cluster } = primary()
      const version = serverVersion()
      for (const node of clusters()) await install(node, { operator: { pgBranching: true } })
      await cluster.plane.apply(sourceObjects(version))
      await kubectl(cluster, "rollout", "status", "deployment/db", "--timeout=300s")
      await kubectl(cluster, "patch", workloadTarget, "--patch", JSON.stringify(withDatabase))
      await kubectl(cluster, "rollout", "status", workloadTarget, "--timeout=300s")
      const home = newHome("branch")
      const config = join(home, "mirrord.json")
      const connection = { url: { type: "env", variable: "DATABASE_URL" } }
      const branch = { id: "node", name: "shop", type: "pg", version, ttl_secs: 300, connection, copy: { mode: "all" } }
      writeFileSync(config, JSON.stringify({ feature: { db_branches: [branch] } }))
      const session = runClient({
        file: mirrord,
        args: ["exec", "--target", workloadTarget, "-f", config, "--", "sh", "-c", 'echo "$DATABASE_URL"'],
        home,
        kubeconfig: cluster.kubeconfigPath
      })
      expect(await session.ended(), session.stderr()).toBe(0)
      // The internal proxy waits for ever for a program with the layer, and the session lives as long.
      session.stop()
      const url = new URL(session.stdout().trim())
      expect(url.hostname).not.toBe("db")
      const port = await cluster.world.forward({ host: url.hostname, port: 5432 })
      url.host = `127.0.0.1:${port}`
      expect(await psql(url, "delete from items where id = 1 returning id; select count(*) from items")).toContain("1")
      const source = ["exec", "deployment/db", "--", "psql", "-U", "engine", "-h", "127.0.0.1", "-At", "shop"]
      expect(await kubectl(cluster, ...source, "-c", "select count(*) from items")).toBe("2")
    })

    it("is refused with the kubelet's own sentence where the agent's image cannot be had", async () => {
      await install(primary(), { agent: { image: "localhost/none:1" } })
      const session = exec(["--env", "CLUSTER"])
      expect(await session.ended()).not.toBe(0)
      expect(session.stderr().replaceAll(/[\s│]+/gu, " ")).toMatch(/localhost\/none:1/u)
    })

    it("steals from pods that forbid root, by agents in ephemeral containers", async () => {
      const security = [
        {
          op: "add",
          path: "/spec/template/spec/securityContext",
          value: {
            runAsNonRoot: true,
            runAsUser: 1000,
            sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "0" }]
          }
        }
      ]
      for (const node of clusters()) {
        await install(node, { agent: { image: "", extraConfig: { ephemeral: true } } })
        await kubectl(node.cluster, "patch", workloadTarget, "--type=json", "--patch", JSON.stringify(security))
        await kubectl(node.cluster, "rollout", "status", workloadTarget)
      }
      const session = exec(["--env", "CLUSTER", "--read", "/etc/myapp/settings.txt", "--steal", "80"])
      expect(await session.waitForEvent("env")).toMatchObject({ value: "cluster-a" })
      expect(await session.waitForEvent("file")).toMatchObject({ text: "settings of cluster-a\n" })
      expect(await session.waitForEvent("subscribed")).toMatchObject({ ok: true })
      await answerEverywhere("/ephemeral", local("/ephemeral"))
      const containers = clusters().flatMap(({ cluster: { store } }) =>
        store
          .list(pods, { namespace: workloadNamespace })
          .items.flatMap((pod) => asObjects(at(pod, "spec", "ephemeralContainers")))
      )
      expect(containers.length).toBeGreaterThanOrEqual(2)
      expect(containers.map(({ securityContext }) => at(securityContext, "runAsUser"))).toEqual(containers.map(() => 0))
      await end(session)
    })
  },
  { also: ["mirrord-agent", "node", "control plane", "PostgreSQL"] }
)

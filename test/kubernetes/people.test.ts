/** People reach a member that dials out through its primary: kubectl, and real API servers on both sides. */

import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { IncomingMessage } from "node:http"
import https from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { text } from "node:stream/consumers"
import { promisify } from "node:util"
import { Effect } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { createAuthority } from "../../lab/cluster/http/pki.ts"
import type { KubeObject } from "../../lab/cluster/schema/kube-object.ts"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { programsIn } from "../../lab/playground/kubernetes/programs.ts"
import { operatorNamespace } from "../../lab/playground/manifests.ts"
import { proxyRoot } from "../../src/domain/outbound/proxied-request.ts"
import { subnetOf } from "../address-plan.ts"
import { fleetIs } from "../real/fleet-health.ts"
import { useKubernetesPlayground } from "../real/harness.ts"
import { listenLocally } from "../support/listen-locally.ts"
import { fieldsOf, type LogFields } from "../support/logfmt.ts"
import { runBraid } from "../support/run-braid.ts"
import { untilTrue } from "../support/until-true.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

const run = Effect.runPromise
const member = "cluster-b"
const [all, readers] = ["people", "readers"]

const roleAndBinding = (name: string, rules: ReadonlyArray<object>, group: string): string =>
  [
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "Group", name: group, apiGroup: "rbac.authorization.k8s.io" }]
    }
  ]
    // An older kubectl that sees JSON first does not look for YAML behind it.
    .map((object) => `---\n${JSON.stringify(object)}\n`)
    .join("")

const proxied = (verbs: ReadonlyArray<string>) => [
  { apiGroups: ["operator.metalbear.co"], resources: ["mirrordclusters/proxy"], resourceNames: [member], verbs },
  { apiGroups: ["operator.metalbear.co"], resources: ["mirrordclusters"], verbs: ["get", "list"] }
]
const atPrimary = [
  roleAndBinding("people-all", proxied(["get", "create", "update", "patch", "delete"]), all),
  roleAndBinding("people-read", proxied(["get"]), readers)
].join("")
/** A metrics server, as far as `kubectl top` sees it. */
const podMetrics = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: "pods.metrics.k8s.io",
    annotations: { "api-approved.kubernetes.io": "unapproved, it stands in for a metrics server" }
  },
  spec: {
    group: "metrics.k8s.io",
    scope: "Namespaced",
    names: { plural: "pods", kind: "PodMetrics", listKind: "PodMetricsList" },
    versions: [
      {
        name: "v1beta1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
      }
    ]
  }
}
const measured = {
  apiVersion: "metrics.k8s.io/v1beta1",
  kind: "PodMetrics",
  metadata: { name: "echo", namespace: "default" },
  timestamp: "2026-01-01T00:00:00Z",
  window: "30s",
  containers: [{ name: "main", usage: { cpu: "7m", memory: "5Mi" } }]
}
const reads = { apiGroups: [""], resources: ["configmaps", "pods", "pods/log"], verbs: ["get", "list", "watch"] }
const atMember = [
  roleAndBinding(
    "people-all",
    [
      reads,
      { apiGroups: [""], resources: ["configmaps"], verbs: ["create", "update", "patch", "delete"] },
      { apiGroups: [""], resources: ["pods/exec", "pods/portforward"], verbs: ["create", "get"] },
      { apiGroups: ["metrics.k8s.io"], resources: ["pods"], verbs: ["get", "list"] }
    ],
    `primary:${all}`
  ),
  roleAndBinding(
    "people-read",
    // This right is not to be reached by a right to get alone at the primary.
    [reads, { apiGroups: [""], resources: ["pods/exec"], verbs: ["create", "get"] }],
    `primary:${readers}`
  )
].join("")

describeKubernetes("requests of people", (assets) => {
  const real = useKubernetesPlayground(assets, {
    topology: "outbound",
    subnet: subnetOf("requests of people, kubernetes"),
    peopleGroups: [all, readers]
  })
  const { kubectl } = programsIn(assets)
  let folder = ""
  let kubelet: https.Server
  const held = new Set<Duplex>()
  /** Ends the log that is followed. */
  let goOn = (): void => {}
  const file = (user: string) => join(folder, `${user}.kubeconfig`)
  const through = (user: string) => join(folder, `${user}-through.kubeconfig`)
  const kube = async (user: string, ...args: ReadonlyArray<string>): Promise<string> => {
    const env = { HOME: folder, PATH: process.env["PATH"] }
    const { stderr, stdout } = await promisify(execFile)(kubectl, [`--kubeconfig=${through(user)}`, ...args], { env })
    return stdout + stderr
  }
  const failure = (user: string, ...args: ReadonlyArray<string>): Promise<string> =>
    kube(user, ...args).then(
      (output) => `succeeded: ${output}`,
      (error: { readonly stderr?: string }) => error.stderr ?? ""
    )

  /** A node without anything but logs and one kind of upgrade, which echoes. */
  const startNode = async (): Promise<void> => {
    const authority = await createAuthority("kubelet", Date.now)
    const { certPem, keyPem } = await authority.issue({
      commonName: "node",
      sans: [{ type: "ip", value: "127.0.0.1" }]
    })
    kubelet = https.createServer({ cert: certPem, key: keyPem }, (request, response) => {
      if (!request.url?.startsWith("/containerLogs/")) return void response.writeHead(404).end()
      response.write("first line\n")
      goOn = () => void response.end("second line\n")
      return undefined
    })
    kubelet.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
      held.add(socket.on("error", () => {}))
      const protocol = String(request.headers.upgrade)
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\nhello`)
      socket.pipe(socket)
    })
    const port = await listenLocally(kubelet)
    const { api } = real.cluster(member).cluster
    const node = {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "stand-in" },
      status: {
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } }
      }
    }
    await run(api.create({ group: "", version: "v1", plural: "nodes", scope: "Cluster" }, node))
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "echo" },
      spec: {
        nodeName: "stand-in",
        automountServiceAccountToken: false,
        containers: [{ name: "main", image: "none" }]
      }
    }
    await run(api.create({ group: "", version: "v1", plural: "pods", scope: "Namespaced" }, pod, "default"))
  }

  beforeAll(async () => {
    await fleetIs(real.playground())
    folder = mkdtempSync(join(tmpdir(), "braid-people-"))
    const { cluster } = real.cluster("primary")
    await cluster.plane.apply(atPrimary)
    await real.cluster(member).cluster.plane.apply(atMember)
    const groups = { ann: [all], bob: [readers] }
    for (const [user, its] of Object.entries(groups)) {
      await run(cluster.userKubeconfig({ user, groups: its, path: file(user) }))
    }
    for (const user of ["ann", "bob"]) {
      const { code, errors, output } = await runBraid(["kubeconfig", member, "--kubeconfig", file(user)])
      expect([code, errors]).toEqual([0, ""])
      writeFileSync(through(user), output, { mode: 0o600 })
    }
    await startNode()
  })
  afterAll(() => {
    for (const socket of held) socket.destroy()
    kubelet?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it("have no kubeconfig for a member that is reached, or that is none", async () => {
    const of = (name: string) => runBraid(["kubeconfig", name, "--kubeconfig", file("ann")])
    expect((await of("cluster-a")).errors).toContain('Cluster "cluster-a" does not dial out')
    expect((await of("cluster-x")).errors).toContain('There is no cluster "cluster-x"')
  })

  it("get, apply and delete what both clusters allow", async () => {
    writeFileSync(
      join(folder, "one.yaml"),
      JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" }, data: { a: "1" } })
    )
    for (const flags of [[], ["--server-side", "--force-conflicts"]])
      expect(await kube("ann", "apply", "-f", join(folder, "one.yaml"), ...flags)).toContain("configmap/one")
    expect(await kube("bob", "get", "configmap", "one", "-o", "jsonpath={.data.a}")).toBe("1")
    expect(await kube("bob", "get", "configmaps")).toMatch(/^one +1 /mu)
    expect(await kube("ann", "delete", "configmap", "one")).toContain("deleted")
  })

  it("are forbidden in the words of the cluster that forbids", async () => {
    expect(await failure("ann", "get", "secrets")).toContain('User "primary:ann" cannot list resource "secrets"')
    expect(await failure("bob", "create", "configmap", "no")).toMatch(
      /User "bob" cannot create resource "mirrordclusters\/proxy"/u
    )
  })

  /** Runs kubectl until the returned function is called, which gives all that it has printed. */
  const following = (...args: ReadonlyArray<string>) => {
    const env = { HOME: folder, PATH: process.env["PATH"] }
    const child = spawn(kubectl, [`--kubeconfig=${through("bob")}`, ...args], { env })
    let printed = ""
    child.stdout.on("data", (chunk: Buffer) => (printed += String(chunk)))
    return { child, printed: () => printed }
  }

  it("watch until they are ended", async () => {
    const { child, printed } = following("get", "configmaps", "--watch-only", "-o", "name")
    let made = 0
    await untilTrue("an event", async () => {
      if (!printed().includes("watched")) await kube("ann", "create", "configmap", `watched-${++made}`)
      return printed().includes("configmap/watched")
    })
    child.kill("SIGINT")
    await once(child, "exit")
  })

  it("follow logs", async () => {
    const { child, printed } = following("logs", "-f", "echo")
    await untilTrue("the first line", () => printed() === "first line\n")
    goOn()
    await once(child, "close")
    expect(printed()).toBe("first line\nsecond line\n")
  })

  it("see what pods use, where something measures it", async () => {
    expect(await failure("ann", "top", "pod", "echo")).toContain("Metrics API not available")
    const { plane } = real.cluster(member).cluster
    await plane.apply(JSON.stringify(podMetrics))
    await untilTrue("the resource is served", () =>
      plane.apply(JSON.stringify(measured)).then(
        () => true,
        () => false
      )
    )
    expect(await kube("ann", "top", "pod", "echo", "--no-headers")).toMatch(/^echo +7m +5Mi/u)
    expect(await failure("bob", "top", "pod", "echo")).toContain('User "primary:bob" cannot get resource "pods"')
  })

  /** Opens a connection to a program in a pod, as kubectl did before it had WebSockets. */
  const exec = async (user: string, method = "POST") => {
    const { plane } = real.cluster("primary").cluster
    const { cert, key } = await plane.credentialsFor(user, user === "ann" ? [all] : [readers])
    const path = `${proxyRoot(member)}/api/v1/namespaces/default/pods/echo/exec?command=sh&stdin=true&container=main`
    const headers = { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io" }
    const asked = https.request(`${plane.server}${path}`, { ca: plane.caPem, cert, key, method, headers, agent: false })
    asked.end()
    return new Promise<{
      readonly code: number
      readonly body: string
      readonly socket?: Duplex
      readonly first: string
    }>((resolve, reject) => {
      asked.on("error", reject)
      asked.on("upgrade", (_answer, socket: Duplex, first: Buffer) => {
        held.add(socket.on("error", () => {}))
        resolve({ code: 101, body: "", socket, first: String(first) })
      })
      asked.on("response", (answer) => {
        void text(answer).then((body) => resolve({ code: answer.statusCode ?? 0, body, first: "" }))
      })
    })
  }

  it("reach into pods with bytes unread, but not by the right to get", async () => {
    const { code, first, socket } = await exec("ann")
    expect(code).toBe(101)
    let heard = first
    socket?.on("data", (chunk: Buffer) => (heard += String(chunk)))
    const sent = "x".repeat(300_000)
    socket?.write(sent)
    await untilTrue("all are back", () => heard === `hello${sent}`)
    socket?.destroy()
    const refused = await exec("bob", "GET")
    expect(refused.code).toBe(403)
    expect(refused.body).toContain('User \\"bob\\" may not create mirrordclusters/proxy.operator.metalbear.co')
  })

  /** The audit lines of an operator about requests of people, by their ids. */
  const linesOf = async (name: string): Promise<ReadonlyMap<string, LogFields>> => {
    const { cluster, kubelet: node } = real.cluster(name)
    const lines = new Map<string, LogFields>()
    const found = cluster.store.list(pods, {
      namespace: operatorNamespace,
      labelSelector: "app=mirrord-operator"
    }).items
    for (const { metadata } of found as ReadonlyArray<KubeObject>) {
      const logs = node?.podLogs(operatorNamespace, metadata.name ?? "", undefined)
      if (logs?._tag !== "Lines") continue
      for await (const line of logs.lines) {
        const fields = fieldsOf(line)
        if (fields["act"] === "proxied") lines.set(fields["request"] ?? "", fields)
      }
    }
    return lines
  }

  it("are noted alike on both sides, of a thousand at random", async () => {
    const { plane } = real.cluster("primary").cluster
    let seed = 7
    const chosen = <A>(from: ReadonlyArray<A>): A => {
      seed = (seed * 48_271) % 2_147_483_647
      const one = from[seed % from.length]
      if (one === undefined) throw new Error("nothing to choose from")
      return one
    }
    const users = await Promise.all(
      [
        ["ann", all],
        ["bob", readers]
      ].map(async ([user = "", group = ""]) => ({
        user,
        agent: new https.Agent({
          ...(await plane.credentialsFor(user, [group])),
          ca: plane.caPem,
          keepAlive: true,
          maxSockets: 10
        })
      }))
    )
    const configMaps = "/api/v1/namespaces/default/configmaps"
    const paths = [
      "/api",
      "/version",
      configMaps,
      `${configMaps}/none`,
      "/api/v1/secrets",
      "/nothing/here",
      `${configMaps}?limit=1&canary=secret`
    ]
    const ask = async (at: number): Promise<readonly [id: string, code: number]> => {
      const { agent } = chosen(users)
      const [method, path] = [chosen(["GET", "GET", "HEAD", "DELETE"]), chosen(paths)]
      const id = `random-${at}`
      const headers = { "audit-id": id, authorization: "", "x-canary": "secret" }
      const asked = https.request(`${plane.server}${proxyRoot(member)}${path}`, { agent, method, headers })
      asked.end()
      const [answer] = (await once(asked, "response")) as [IncomingMessage]
      await text(answer)
      return [id, answer.statusCode ?? 0]
    }
    const codes = new Map<string, number>()
    let next = 0
    const work = async (): Promise<void> => {
      while (next < 1_000) {
        const [id, code] = await ask(next++)
        codes.set(id, code)
      }
    }
    await Promise.all(Array.from({ length: 16 }, work))
    const ofRandom = async (name: string) =>
      new Map([...(await linesOf(name))].filter(([id]) => id.startsWith("random-")))
    await untilTrue(
      "both logs have all",
      async () => (await ofRandom("primary")).size === (await ofRandom(member)).size
    )
    const [atCell, atOutpost] = [await ofRandom("primary"), await ofRandom(member)]
    // The others were forbidden by the primary's API server.
    expect(atCell.size).toBeGreaterThan(800)
    const shared = ["request", "user", "groups", "verb", "path", "decision", "code"] as const
    for (const [id, line] of atCell) {
      const other = atOutpost.get(id) ?? {}
      expect(shared.map((field) => other[field])).toEqual(shared.map((field) => line[field]))
      expect(line["code"]).toBe(String(codes.get(id)))
      expect(other["as"]).toBe(`primary:${String(line["user"])}`)
      expect(JSON.stringify([line, other])).not.toContain('secret"')
    }
    const decisions = new Set([...atCell.values()].map(({ decision }) => decision))
    expect(decisions).toEqual(new Set(["allowed", "denied"]))
    for (const { agent } of users) agent.destroy()
  })
})

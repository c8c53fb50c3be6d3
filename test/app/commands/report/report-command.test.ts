import { mkdtemp, readFile, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseTarGzip } from "nanotar"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { stringify } from "yaml"
import { ContainerLog } from "../../../../lab/cluster/node/container-log.ts"
import { type RunningCluster, runCluster } from "../../../lab/cluster/running-cluster.ts"
import { operatorObjects } from "../../../support/operator-objects.ts"
import { runBraid } from "../../../support/run-braid.ts"

const canary = "Canary7Zq"
const token = `eyJhbGciOiJSUzI1NiJ9.${canary}.${canary}`
const key = `-----BEGIN RSA PRIVATE KEY-----\n${canary}\n-----END RSA PRIVATE KEY-----`
const hook = `level=WARN message="POST https://hooks.slack.com/services/T0/B0/${canary} answered 500"`
const meta = (name: string, more: object = {}) => ({
  name,
  namespace: "mirrord",
  annotations: { "kubectl.kubernetes.io/last-applied-configuration": canary },
  ...more
})

/** Objects with a secret wherever people put one. */
const objects: ReadonlyArray<object> = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "mirrord" } },
  ...operatorObjects(["cluster-b"], { operator_namespace: "mirrord" }),
  { apiVersion: "v1", kind: "Secret", metadata: meta("mirrord-cluster-b"), data: { bearerToken: btoa(canary) } },
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: meta("mirrord-configmap"),
    data: {
      "a.yaml": `token: ${canary}\nenv: [{name: A, value: ${canary}}]`,
      "audit.yaml": `url: https://siem.example.com/in/${canary}`
    }
  },
  { apiVersion: "v1", kind: "ConfigMap", metadata: meta("of-somebody"), data: { password: canary } },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: meta("operator-1", { labels: { app: "mirrord-operator" } }),
    spec: {
      nodeName: "node",
      containers: [
        {
          name: "mirrord-operator",
          image: "braid:1",
          env: [
            { name: "OPERATOR_SESSIONS", value: "500" },
            { name: "OPERATOR_JIRA_WEBHOOK_URL", value: `https://jira.example.com/${canary}` },
            { name: "OPERATOR_AGENT_EXTRA_ENV", value: `{"A":"${canary}"}` },
            { name: "AWS_SECRET_ACCESS_KEY", value: canary },
            { name: "OTEL_EXPORTER_OTLP_HEADERS", value: `authorization=Basic ${canary}` },
            { name: "HTTPS_PROXY", value: `http://ann:${canary}@proxy:3128` }
          ]
        }
      ]
    }
  },
  {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "lost", namespace: "default" },
    involvedObject: { apiVersion: "operator.metalbear.co/v1", kind: "MirrordCluster", name: "cluster-b" },
    reason: "ClusterLost",
    message: `it says postgres://u:${canary}@db/x, password=${canary}, Bearer ${canary}`,
    source: { component: "mirrord-operator" }
  },
  {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "other", namespace: "default" },
    involvedObject: { apiVersion: "v1", kind: "Pod", name: "theirs", namespace: "default" },
    reason: "TheirEvent",
    message: canary
  }
]

describe("braid report", () => {
  let directory: string
  let running: RunningCluster
  const report = (file: string, ...args: ReadonlyArray<string>) =>
    runBraid(["report", "--kubeconfig", running.cluster.kubeconfigPath, "-o", join(directory, file), ...args])

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "braid-report-"))
    running = await runCluster({ name: "primary" })
    for (const object of objects) running.cluster.apply(stringify(object))
    const log = new ContainerLog(() => Date.UTC(2100, 0, 2))
    for (const line of ["level=INFO message=serves", `level=WARN message="token ${token}"`, key, hook]) log.append(line)
    running.cluster.setPodLogs((_, __, ___, options) => (options.previous ? "none" : log.read(options)))
  })
  afterAll(async () => {
    await running.close()
    await rm(directory, { recursive: true })
  })

  it("has what helps of each cluster, no secret, and says what it lacks", async () => {
    const { code, errors, output } = await report("fleet.tgz")
    expect([code, errors]).toEqual([0, expect.stringContaining('no context for cluster "cluster-b"')])
    expect(output).toMatch(
      /fleet\.tgz has \d+ files about .+\. It has no Secrets; look through it before you send it\.\n$/u
    )
    expect((await stat(join(directory, "fleet.tgz"))).mode & 0o777).toBe(0o600)
    const files = await parseTarGzip(await readFile(join(directory, "fleet.tgz")))
    const texts = new Map(files.map(({ name, text }) => [name.replace(/^braid-report\/(?:[^/]+\/)?/u, ""), text]))
    const all = [...texts.values()].join("\n")
    expect(all).not.toContain(canary)
    expect(all).not.toContain(btoa(canary))
    expect([...texts.keys()].toSorted()).toEqual([
      "configmaps.yaml",
      "events.yaml",
      "mirrordoperators.yaml",
      "operators.log",
      "pods.yaml",
      "report.yaml"
    ])
    expect(texts.get("operators.log")).toContain("message=serves")
    expect(texts.get("events.yaml")).toContain("ClusterLost")
    expect(texts.get("events.yaml")).not.toContain("TheirEvent")
    expect(texts.get("pods.yaml")).toMatch(/name: OPERATOR_SESSIONS\n +value: "500"/u)
    expect(texts.get("pods.yaml")).toMatch(/name: AWS_SECRET_ACCESS_KEY\n +value: \(left out\)/u)
    expect(texts.get("report.yaml")).toContain("cluster-b")
  })

  it("overwrites nothing, and says what is wrong with what it was given", async () => {
    const before = await readFile(join(directory, "fleet.tgz"))
    expect(await report("fleet.tgz")).toMatchObject({ code: 1, errors: expect.stringContaining("cannot be written") })
    expect(await readFile(join(directory, "fleet.tgz"))).toEqual(before)
    expect(await report("no/such.tgz")).toMatchObject({ code: 1, errors: expect.stringContaining("--output") })
    expect(await report("b.tgz", "--since", "soon")).toMatchObject({ code: 1, errors: expect.stringContaining("soon") })
    expect(await report("c.tgz", "--context", "none")).toMatchObject({ code: 1 })
  })
})

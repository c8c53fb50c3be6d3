import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { freePorts } from "../../../lab/playground/free-ports.ts"
import { runBraid } from "../../support/run-braid.ts"

const program = fileURLToPath(new URL("../../../src/app/braid.ts", import.meta.url))

/** Of a cluster that nobody serves: an operator opens its ports all the same. */
const kubeconfig = `
apiVersion: v1
kind: Config
current-context: away
clusters: [{name: away, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: somebody, user: {token: secret-token-of-somebody}}]
contexts: [{name: away, context: {cluster: away, user: somebody}}]
`

/** Completes with the output so far when it holds `line`, or when the program has ended. */
const outputUntil = (child: ChildProcess, line: string): Promise<string> =>
  new Promise((resolve) => {
    let output = ""
    const hear = (chunk: Buffer): void => {
      output += chunk.toString("utf8")
      if (output.includes(line)) resolve(output)
    }
    child.stdout?.on("data", hear)
    child.stderr?.on("data", hear)
    child.once("close", () => resolve(output))
  })

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })

describe("braid operator", () => {
  let folder = ""
  let running: ChildProcess | undefined
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "braid-operator-"))
    await writeFile(join(folder, "kubeconfig"), kubeconfig)
  })
  afterEach(() => void running?.kill("SIGKILL"))
  afterAll(() => rm(folder, { recursive: true }))

  const start = async (env: Readonly<Record<string, string>>) => {
    const [api = 0, metrics = 0] = await freePorts(2)
    running = spawn(process.execPath, [program, "operator"], {
      env: {
        PATH: process.env["PATH"],
        HOME: "/nonexistent",
        KUBECONFIG: join(folder, "kubeconfig"),
        OPERATOR_ADDR: `127.0.0.1:${api}`,
        OPERATOR_METRICS_ADDR: `127.0.0.1:${metrics}`,
        ...env
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const output = await outputUntil(running, 'message="operator serves"')
    return { api, metrics, output }
  }

  it.each([
    ["no kubeconfig outside of a pod", "", "KUBECONFIG is not set, and this is no pod with a service account."],
    ["a kubeconfig that is not there", "/nonexistent/kubeconfig", "no such file or directory"]
  ])("ends with a sentence and code 2: %s", async (_, file, why) => {
    const { code, errors } = await runBraid(["operator"], { KUBECONFIG: file })
    expect(code).toBe(2)
    expect(errors).toMatch(/^braid: the configuration cannot be used:\nthere is no cluster to serve: /u)
    expect(errors).toContain(why)
    expect(errors).toContain("by hand it needs KUBECONFIG")
  })

  it("opens no port for metrics unless they are on", async () => {
    for (const env of [{}, { OPERATOR_METRICS_ENABLED: "false" }]) {
      const { api, metrics, output } = await start(env)
      expect([await isOpen(api), await isOpen(metrics)], output).toEqual([true, false])
      expect(output).not.toContain("metrics are served")
      running?.kill("SIGKILL")
    }
  })

  it("tells of itself while its cluster is away, and never its token", async () => {
    const { metrics, output } = await start({ OPERATOR_METRICS_ENABLED: "true" })
    expect(output).toContain("metrics are served")
    const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
    expect(text).toContain('braid_build_info{version="')
    expect(text).not.toContain("secret-token-of-somebody")
  })

  it.each([
    ["OPERATOR_MULTI_CLUSTER_MEMBER", /role=member/u],
    ["OPERATOR_MULTI_CLUSTER_REQUIRE_PRIMARY", /role=member/u],
    ["OTHER", /role="one cluster"/u]
  ])("calls itself a member where the chart says so, before any primary has come: %s", async (name, role) => {
    expect((await start({ [name]: "true" })).output).toMatch(role)
  })

  it("exports traces only where a collector is named, and never tells its headers", async () => {
    const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }
    const { output } = await start({ ...collector, OTEL_EXPORTER_OTLP_HEADERS: "authorization=secret-of-a-collector" })
    expect(output).toContain("traces are exported")
    expect(output).not.toContain("secret-of-a-collector")
    running?.kill("SIGKILL")
    expect((await start({})).output).not.toContain("traces")
    running?.kill("SIGKILL")
    const refused = await start({ ...collector, OTEL_EXPORTER_OTLP_HEADERS: "secret-of-a-collector" })
    expect(refused.output).toContain("OTEL_EXPORTER_OTLP_HEADERS is no list of headers; set it to name=value pairs")
    expect(refused.output).not.toContain("secret-of-a-collector")
  })
})

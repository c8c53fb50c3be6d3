/** The reference agent as a program: exit codes, log lines, and its start in a container. */

import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { agentProgram, runAgentCommand } from "../../../lab/agent/agent-command.ts"
import type { AgentTarget } from "../../../lab/cluster/node/agent-target.ts"
import type { ContainerContext } from "../../../lab/cluster/node/container-program.ts"
import type { AgentTls } from "../../../src/adapters/agents/secure-agent.ts"
import { makeAgentTls } from "../../support/agent-tls.ts"
import { restoreEnvironment } from "../../support/restore-environment.ts"
import { AgentClient } from "./agent-client.ts"

let root: string
const kept = { ...process.env }

beforeEach(() => {
  root = fs.mkdtempSync(`${os.tmpdir()}/agent-root-`)
})
afterEach(() => {
  restoreEnvironment(kept)
  fs.rmSync(root, { recursive: true, force: true })
})

const target = (name: string): AgentTarget => ({
  env: new Map([["NAME", name]]),
  root,
  podIp: "127.0.0.1",
  resolve: () => undefined,
  redirect: () => () => undefined
})

/** A container without a kubelet: listens on a free port of loopback, whatever port is asked for. */
const container = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
  const log: Array<string> = []
  const asked: Array<number> = []
  let ready: (port: number) => void = () => undefined
  const isReady = new Promise<number>((resolve) => {
    ready = resolve
  })
  let bound = 0
  const context: ContainerContext = {
    pod: { apiVersion: "v1", kind: "Pod", metadata: { name: "agent" } },
    containerName: "mirrord-agent",
    podIp: "127.0.0.1",
    env: new Map([["NAME", "own"], ...Object.entries(env)]),
    userId: 0,
    args,
    root,
    gracePeriodSeconds: () => 1,
    log: (line) => log.push(line),
    ready: () => ready(bound),
    listen: (port, onConnection) =>
      Effect.acquireRelease(
        Effect.callback<net.Server>((resume) => {
          asked.push(port)
          const server = net.createServer({ allowHalfOpen: true }, (socket) =>
            onConnection(socket, { ip: "127.0.0.1", port: 1 })
          )
          server.listen(0, "127.0.0.1", () => {
            const address = server.address()
            bound = address !== null && typeof address === "object" ? address.port : 0
            resume(Effect.succeed(server))
          })
        }),
        (server) => Effect.sync(() => server.close())
      ).pipe(Effect.asVoid),
    target: (id) => (id === "abc" ? target("targeted") : undefined),
    onNode: () => [],
    reach: (endpoint) => endpoint
  }
  return { context, log, asked, isReady }
}

const run = (context: ContainerContext): Promise<number> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const code = yield* agentProgram(context).pipe(Scope.provide(scope))
      yield* Scope.close(scope, Exit.void)
      return code
    })
  )

const nameSeenBy = async (port: number, tls?: AgentTls): Promise<unknown> => {
  const client = new AgentClient(port, tls)
  const answer = await client.ask({
    _tag: "GetEnvVarsRequest",
    value: { envVarsFilter: new Set(), envVarsSelect: new Set(["NAME"]) }
  })
  client.close()
  return answer
}

describe("as a container's program", () => {
  it.each([
    [
      "targeted",
      [
        "./mirrord-agent",
        "-l",
        "5000",
        "-t",
        "30",
        "targeted",
        "--container-id",
        "abc",
        "--container-runtime",
        "containerd"
      ],
      "targeted"
    ],
    ["targetless", ["./mirrord-agent", "-l", "5000", "-t", "30", "targetless"], "own"]
  ])("serves a %s agent", async (_mode, args, name) => {
    const { context, asked, isReady, log } = container(args)
    const exit = run(context)
    const port = await isReady
    expect(asked).toEqual([5000])
    expect(await nameSeenBy(port)).toMatchObject({ value: { value: { NAME: name } } })
    expect(await exit).toBe(0)
    expect(log).toEqual(["agent ready - version 3.250.0"])
  })

  it.each([
    [
      "an unknown container",
      ["-l", "1", "targeted", "-c", "nobody"],
      {},
      1,
      "no running container nobody on this node"
    ],
    ["ephemeral beside nobody", ["-l", "1", "ephemeral"], {}, 1, "ephemeral container with a running target"],
    ["no certificate", ["-l", "1", "targetless"], { AGENT_OPERATOR_CERT_ENV: "pem" }, 1, "is no PEM certificate"],
    [
      "a certificate that cannot be read",
      ["--operator-tls-cert-pem=-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "targetless"],
      {},
      1,
      "(AGENT_OPERATOR_CERT_ENV) cannot be read"
    ],
    ["metrics", ["--metrics", "0.0.0.0:9", "targetless"], {}, 1, "--metrics is not supported"],
    ["a wrong command line", ["-l", "x", "targetless"], {}, 2, "--communicate-port must be a whole number"]
  ])("refuses %s", async (_what, args, env, code, text) => {
    const { context, log } = container(args, env)
    expect(await run(context)).toBe(code)
    expect(log.join("\n")).toContain(text)
  })

  it.each([
    ["its environment", (pem: string) => container(["targetless"], { AGENT_OPERATOR_CERT_ENV: pem })],
    ["its command line", (pem: string) => container([`--operator-tls-cert-pem=${pem}`, "targetless"])]
  ])("serves the operator whose certificate is in %s", async (_where, containerOf) => {
    const tls = await makeAgentTls()
    const { context, isReady } = containerOf(tls.certificatePem)
    const exit = run(context)
    expect(await nameSeenBy(await isReady, tls)).toMatchObject({ value: { value: { NAME: "own" } } })
    expect(await exit).toBe(0)
  })

  it("says which settings it cannot read", async () => {
    const { context, log, isReady } = container(["targetless"], { MIRRORD_AGENT_IDLE_TTL: "soon" })
    const exit = run(context)
    await nameSeenBy(await isReady)
    expect(await exit).toBe(0)
    expect(log[0]).toBe('MIRRORD_AGENT_IDLE_TTL must be a whole number of seconds, not "soon"; 0 is used')
  })
})

describe("as a command", () => {
  it("refuses targeted mode outside the embedded cluster", async () => {
    expect(await Effect.runPromise(runAgentCommand(["-l", "0", "targeted", "-c", "abc"]))).toBe(1)
  })

  it("refuses a certificate that is none", async () => {
    process.env["AGENT_OPERATOR_CERT_ENV"] = "pem"
    expect(await Effect.runPromise(runAgentCommand(["-l", "0", "targetless"]))).toBe(1)
  })

  it("ends with 2 for a wrong command line", async () => {
    expect(await Effect.runPromise(runAgentCommand([]))).toBe(2)
  })

  it("ends with 1 without a client", async () => {
    expect(await Effect.runPromise(runAgentCommand(["-l", "0", "-t", "0", "targetless"]))).toBe(1)
  })
})

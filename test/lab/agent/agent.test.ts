/** The life of the reference agent: ports, clients, time-outs, end. */

import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { AgentTarget } from "../../../lab/cluster/node/agent-target.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { AgentClient } from "./agent-client.ts"
import { startOurs } from "./agent-harness.ts"

let root: string

beforeEach(() => {
  root = fs.mkdtempSync(`${os.tmpdir()}/agent-root-`)
})
afterEach(() => fs.rmSync(root, { recursive: true, force: true }))

const target = (): AgentTarget => ({
  env: new Map([["GREETING", "hello"]]),
  root,
  podIp: "127.0.0.1",
  resolve: (name) => (name === "db.store.svc" ? ["10.0.0.7", "fd00::7"] : undefined),
  redirect: () => () => undefined
})

describe("life", () => {
  it("ends with 1 if no client comes in time", async () => {
    const agent = await startOurs({ target: target(), communicationTimeoutSecs: 0.02 })
    expect(await agent.exit).toBe(1)
  })

  it("ends with 0 as soon as the last client has left", async () => {
    const agent = await startOurs({ target: target() })
    const [first, second] = [new AgentClient(agent.port), new AgentClient(agent.port)]
    await first.ask({ _tag: "Ping" })
    await second.ask({ _tag: "Ping" })
    first.close()
    expect(await second.ask({ _tag: "Ping" })).toEqual({ _tag: "Pong" })
    second.socket.end()
    expect(await agent.exit).toBe(0)
  })

  it("counts a connection that says nothing as a client", async () => {
    const agent = await startOurs({ target: target(), communicationTimeoutSecs: 600 })
    net.connect(agent.port, "127.0.0.1").end()
    expect(await agent.exit).toBe(0)
  })

  it("waits for another client during the idle time", async () => {
    const agent = await startOurs({ target: target(), idleTtlSecs: 60 })
    const first = new AgentClient(agent.port)
    await first.ask({ _tag: "Ping" })
    first.close()
    const second = new AgentClient(agent.port)
    expect(await second.ask({ _tag: "Ping" })).toEqual({ _tag: "Pong" })
    await agent.stop()
    expect(await second.next()).toBeUndefined()
  })

  it("ends with 1 if its port is taken, and says so", async () => {
    const server = net.createServer()
    const port = await listenLocally(server)
    const { Effect } = await import("effect")
    const { runAgent } = await import("../../../lab/agent/agent.ts")
    const log: Array<string> = []
    const code = await Effect.runPromise(
      Effect.scoped(
        runAgent({
          target: target(),
          listen: { host: "127.0.0.1", port },
          communicationTimeoutSecs: 1,
          idleTtlSecs: 0,
          log: (line) => log.push(line)
        })
      )
    )
    expect(code).toBe(1)
    expect(log).toEqual([expect.stringContaining("EADDRINUSE")])
    server.close()
  })
})

describe("clients", () => {
  it("each have counters of their own, from 0", async () => {
    fs.writeFileSync(`${root}/f`, "")
    const agent = await startOurs({ target: target(), idleTtlSecs: 60 })
    const options = { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
    for (let i = 0; i < 2; i++) {
      const client = new AgentClient(agent.port)
      const answer = await client.ask({
        _tag: "FileRequest",
        value: { _tag: "Open", value: { path: "/f", openOptions: options } }
      })
      expect(answer).toEqual({ _tag: "File", value: { _tag: "Open", value: { _tag: "Ok", value: { fd: 0n } } } })
      client.close()
    }
    await agent.stop()
  })

  it("see the target's environment and the cluster's names, not this process's", async () => {
    const agent = await startOurs({ target: target(), idleTtlSecs: 60 })
    const client = new AgentClient(agent.port)
    expect(
      await client.ask({
        _tag: "GetEnvVarsRequest",
        value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) }
      })
    ).toEqual({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: { GREETING: "hello" } } })
    expect(await client.ask({ _tag: "GetAddrInfoRequest", value: { node: "db.store.svc" } })).toEqual({
      _tag: "GetAddrInfoResponse",
      value: { _tag: "Ok", value: [{ name: "db.store.svc.", ip: "10.0.0.7" }] }
    })
    client.close()
    await agent.stop()
  })

  it("come out of the pod's address on loopback, and go where the cluster's addresses really are", async () => {
    const seen = new Promise<string | undefined>((resolve) => {
      const server = net.createServer((socket) => {
        resolve(socket.remoteAddress)
        socket.destroy()
        server.close()
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = address !== null && typeof address === "object" ? address.port : 0
        void startOurs({
          target: { ...target(), podIp: "127.0.0.9" },
          reach: (endpoint) => (endpoint.ip === "10.96.0.1" ? { ip: "127.0.0.1", port } : endpoint)
        }).then(async (agent) => {
          const client = new AgentClient(agent.port)
          const remoteAddress = { _tag: "Ip", value: { ip: "10.96.0.1", port: 80 } } as const
          const answer = await client.ask({
            _tag: "TcpOutgoing",
            value: { _tag: "ConnectV2", value: { uid: 1n, remoteAddress } }
          })
          expect(answer).toMatchObject({
            value: { value: { connect: { value: { remoteAddress, localAddress: { value: { ip: "127.0.0.9" } } } } } }
          })
          client.close()
        })
      })
    })
    expect(await seen).toBe("127.0.0.9")
  })
})

describe("an earlier version", () => {
  it("answers its version, serves what it knows, and drops a client that says more", async () => {
    const agent = await startOurs({ target: target(), idleTtlSecs: 60, protocolVersion: "1.19.4" })
    const greeted = async (): Promise<AgentClient> => {
      const client = new AgentClient(agent.port)
      expect(await client.ask({ _tag: "SwitchProtocolVersion", value: "1.29.0" })).toEqual({
        _tag: "SwitchProtocolVersionResponse",
        value: "1.19.4"
      })
      return client
    }
    const client = await greeted()
    expect(await client.ask({ _tag: "GetAddrInfoRequest", value: { node: "db.store.svc" } })).toMatchObject({
      _tag: "GetAddrInfoResponse"
    })
    const filter = { _tag: "Method", value: { _tag: "Get" } } as const
    const steal = { _tag: "FilteredHttpEx", port: 80, filter } as const
    for (const newer of [
      { _tag: "ReverseDnsLookup", value: { ipAddress: "10.0.0.7" } },
      { _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: steal } }
    ] as const) {
      const other = await greeted()
      expect(await other.ask(newer)).toBeUndefined()
    }
    expect(agent.log.filter((line) => line.includes("of a version after 1.19.4"))).toHaveLength(2)
    expect(await client.ask({ _tag: "Ping" })).toEqual({ _tag: "Pong" })
    client.close()
    await agent.stop()
  })
})

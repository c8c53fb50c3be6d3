/** The conformance cases as suites of an agent: the reference agent or mirrord's own. */

import * as dgram from "node:dgram"
import * as fs from "node:fs"
import * as net from "node:net"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import { Effect } from "effect"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { TrustedOperator } from "../../../lab/agent/operator-tls.ts"
import { dialAgent } from "../../../src/adapters/agents/agent-channel.ts"
import type { AgentTls } from "../../../src/adapters/agents/secure-agent.ts"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { makeAgentTls } from "../../support/agent-tls.ts"
import { AgentClient } from "./agent-client.ts"
import type { RunningAgent } from "./agent-harness.ts"
import { cases, type Fixture } from "./conformance-cases.ts"

const servers: Array<{ readonly close: () => unknown }> = []

const serve = (onConnection: (socket: net.Socket) => void, at: number | string = 0): Promise<number> =>
  new Promise((resolve) => {
    const server = net.createServer({ allowHalfOpen: true }, (socket) => {
      socket.on("error", () => undefined)
      onConnection(socket)
    })
    servers.push(server)
    const done = (): void => {
      const address = server.address()
      resolve(address !== null && typeof address === "object" ? address.port : 0)
    }
    if (typeof at === "string") server.listen(at, done)
    else server.listen(at, "127.0.0.1", done)
  })

const udpEcho = (): Promise<number> =>
  new Promise((resolve) => {
    const socket = dgram.createSocket("udp4")
    servers.push(socket)
    socket.on("message", (bytes, from) => socket.send(`udp:${bytes.toString()}`, from.port, from.address))
    socket.bind(0, "127.0.0.1", () => {
      const { port }: AddressInfo = socket.address()
      resolve(port)
    })
  })

let home: string
let network: Omit<Fixture, "dir">

const makeFiles = (): string => {
  const dir = fs.mkdtempSync(`${home}/case-`)
  fs.writeFileSync(`${dir}/hello.txt`, "hello world\n", { mode: 0o644 })
  fs.mkdirSync(`${dir}/dir`, { mode: 0o755 })
  fs.writeFileSync(`${dir}/dir/inner`, "x", { mode: 0o644 })
  fs.mkdirSync(`${dir}/empty`)
  fs.symlinkSync("hello.txt", `${dir}/link`)
  fs.symlinkSync("dir", `${dir}/dlink`)
  fs.symlinkSync("nowhere", `${dir}/dangling`)
  fs.symlinkSync("loop", `${dir}/loop`)
  fs.symlinkSync(`${dir}/hello.txt`, `${dir}/abs`)
  return dir
}

/** Starts the servers that agents reach, and names their sockets and files. */
const startServers = async (): Promise<void> => {
  home = fs.mkdtempSync(`${os.tmpdir()}/agent-`)
  const unixPath = `${home}/socket`
  await serve((socket) => socket.pipe(socket), unixPath)
  network = {
    unixPath,
    echoPort: await serve((socket) => {
      socket.on("data", (bytes) => socket.write(`echo:${bytes.toString()}`))
      socket.on("end", () => socket.end("bye"))
    }),
    greetPort: await serve((socket) => {
      socket.resume()
      socket.end("hello")
    }),
    resetPort: await serve((socket) => socket.once("data", () => socket.resetAndDestroy())),
    udpPort: await udpEcho()
  }
}

const stopServers = (): void => {
  for (const server of servers.splice(0)) server.close()
  fs.rmSync(home, { recursive: true, force: true })
}

const suite = (name: string, start: () => Promise<RunningAgent>, tls?: AgentTls): void => {
  describe(name, () => {
    let agent: RunningAgent
    let client: AgentClient
    beforeAll(async () => {
      agent = await start()
    })
    afterEach(() => client.close())
    afterAll(() => agent.stop())

    it("prints the ready line", () => {
      client = new AgentClient(agent.port, tls)
      expect(agent.log).toContain("agent ready - version 3.250.0")
    })

    it.each(cases)("$name", async ({ steps, ends }) => {
      client = new AgentClient(agent.port, tls)
      for (const [number, [message, ...answers]] of steps({ ...network, dir: makeFiles() }).entries()) {
        client.send(message)
        expect(await client.take(answers.length), `step ${number}`).toEqual(answers)
      }
      if (ends === true) expect(await client.next()).toBeUndefined()
      else expect(await client.settle(), "nothing beyond the answers").toEqual([])
    })

    it("drops a client that sends garbage, and only that one", async () => {
      client = new AgentClient(agent.port, tls)
      const other = new AgentClient(agent.port, tls)
      expect(await other.ask({ _tag: "Ping" })).toEqual({ _tag: "Pong" })
      client.socket.write(Buffer.from("06ff", "hex"))
      expect(await client.next()).toBeUndefined()
      expect(await other.ask({ _tag: "Ping" })).toEqual({ _tag: "Pong" })
      other.close()
    })

    it("answers DNS requests in their order, whatever each takes", async () => {
      client = new AgentClient(agent.port, tls)
      const nodes = ["no-such-host.invalid", "localhost", "10.0.0.1"]
      client.send(...nodes.map((node) => ({ _tag: "GetAddrInfoRequest", value: { node } }) as const))
      expect(await client.take(3)).toMatchObject([
        { value: { _tag: "Err" } },
        { value: { _tag: "Ok", value: [{ name: "localhost." }] } },
        { value: { _tag: "Ok", value: [{ ip: "10.0.0.1" }] } }
      ])
    })

    it("takes messages in any chunking", async () => {
      client = new AgentClient(agent.port, tls)
      const bytes = Buffer.from("070a06312e32392e3007", "hex")
      for (const byte of bytes) client.socket.write(Buffer.of(byte))
      expect(await client.take(3)).toEqual([
        { _tag: "Pong" },
        { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" },
        { _tag: "Pong" }
      ])
    })
  })
}

const tls = await makeAgentTls()
const stranger = await makeAgentTls()
const { certificatePem, serverName } = tls

/** An agent that speaks TLS serves its operator and nobody else. */
const tlsSuite = (name: string, start: () => Promise<RunningAgent>): void => {
  describe(name, () => {
    it.each([
      ["an operator with another key", () => stranger],
      ["an operator without TLS", () => undefined]
    ])("does not serve %s, and goes on", async (_what, operator) => {
      const agent = await start()
      const other = new AgentClient(agent.port, operator())
      // More than the head of a TLS record, so that an agent can see that it is none.
      other.send(...Array.from({ length: 10 }, () => ({ _tag: "Ping" }) as const))
      expect(await other.next()).toBeUndefined()
      const client = new AgentClient(agent.port, tls)
      expect(await client.ask({ _tag: "Ping" })).toEqual({ _tag: "Pong" })
      client.close()
      other.close()
      await agent.stop()
    })

    it("knows its operator through dialAgent", async () => {
      const agent = await start()
      const channel = await Effect.runPromise(dialAgent("127.0.0.1", agent.port, { tls }))
      const heard = new Promise<Uint8Array>((resolve) => {
        channel.open({ message: resolve, ended: () => undefined, drained: () => undefined, ignored: () => undefined })
      })
      channel.send(clientMessage.encode({ _tag: "Ping" }))
      expect(Buffer.from(await heard)).toEqual(Buffer.from(daemonMessage.encode({ _tag: "Pong" })))
      const error = await Effect.runPromise(
        Effect.flip(dialAgent("127.0.0.1", agent.port, { tls: { ...stranger, serverName } }))
      )
      expect(error.detail).toMatch(/the TLS handshake failed \(.+\): it refuses the operator's certificate/)
      channel.close()
      await agent.stop()
    })
  })
}

/** Starts an agent: one that serves this operator alone, over TLS, or one that serves anybody. */
export type StartAgent = (operator?: TrustedOperator) => Promise<RunningAgent>

/** All cases, without TLS and with it. */
export const agentConformance = (name: string, start: StartAgent): void => {
  beforeAll(startServers)
  afterAll(stopServers)
  const trusted = { certificatePem, name: serverName }
  suite(name, () => start())
  suite(`${name}, over TLS`, () => start(trusted), tls)
  tlsSuite(`${name} that speaks TLS`, () => start(trusted))
}

/** The reference agent passes the suite of incoming traffic. */

import * as fs from "node:fs"
import * as os from "node:os"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { AgentClient } from "../agent-client.ts"
import { type RunningAgent, startOurs } from "../agent-harness.ts"
import { type LoopbackTarget, loopbackTarget, podIp } from "../loopback-target.ts"
import { makeApplication } from "./application.ts"
import { incomingSuite } from "./incoming-suite.ts"
import { largestBody, patientSecs, type StartWorld } from "./incoming-world.ts"
import { tlsSuite } from "./tls-suite.ts"

const startWorld: StartWorld = async (tls) => {
  const root = fs.mkdtempSync(`${os.tmpdir()}/agent-root-`)
  const application = makeApplication(tls)
  const { close, entry, redirected, target } = await loopbackTarget(application, { root })
  return {
    entry,
    peerIp: podIp,
    podIp,
    redirected,
    write: (name, text) => {
      fs.writeFileSync(`${root}/${name}`, text)
      return `/${name}`
    },
    startAgent: ({ httpDetectionTimeoutSecs = patientSecs, bodyTimeoutMs = patientSecs * 1000, stealTls = [] } = {}) =>
      startOurs({
        target,
        stealTls,
        idleTtlSecs: 600,
        httpDetectionTimeoutSecs,
        bodyLimits: { maxBytes: largestBody, timeoutMs: bodyTimeoutMs }
      }),
    stopApplication: () => new Promise((resolve) => application.close(() => resolve())),
    close: () => {
      close()
      fs.rmSync(root, { recursive: true, force: true })
    }
  }
}

describe("the reference agent", () => {
  incomingSuite(startWorld)
  tlsSuite(startWorld)
})

describe("the reference agent alone", () => {
  let root: string
  let world: LoopbackTarget
  let agent: RunningAgent
  let client: AgentClient
  beforeEach(async () => {
    root = fs.mkdtempSync(`${os.tmpdir()}/agent-root-`)
    world = await loopbackTarget(makeApplication(), { root })
    agent = await startOurs({ target: world.target, idleTtlSecs: 600 })
    client = new AgentClient(agent.port)
    await client.ask({ _tag: "SwitchProtocolVersion", value: "1.29.0" })
  })
  afterEach(async () => {
    client.close()
    await agent.stop()
    world.close()
    fs.rmSync(root, { recursive: true, force: true })
  })

  it("a port that cannot be redirected ends the connection", async () => {
    const all = { _tag: "PortSubscribe", value: { _tag: "All", value: 9 } } as const
    expect(await client.ask({ _tag: "TcpSteal", value: all })).toMatchObject({
      _tag: "Close",
      value: expect.stringContaining("port redirector failed")
    })
    expect(await client.next()).toBeUndefined()
  })

  it("stops reading a client that does not read, and takes up again", async () => {
    fs.writeFileSync(`${root}/large`, "y".repeat(1_000_000))
    client.socket.pause()
    client.send({
      _tag: "FileRequest",
      value: {
        _tag: "Open",
        value: {
          path: "/large",
          openOptions: { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
        }
      }
    })
    for (let i = 0; i < 20; i++) {
      client.send({
        _tag: "FileRequest",
        value: { _tag: "ReadLimited", value: { remoteFd: 0n, bufferSize: 1_000_000n, startFrom: 0n } }
      })
    }
    client.socket.resume()
    const messages = await client.settle()
    expect(messages).toHaveLength(21)
    expect(messages.at(-1)).toMatchObject({
      value: { _tag: "ReadLimited", value: { _tag: "Ok", value: { readAmount: 1_000_000n } } }
    })
  })
})

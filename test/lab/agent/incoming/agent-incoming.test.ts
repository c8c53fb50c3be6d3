/** The reference agent passes the suite of incoming traffic. */

import * as fs from "node:fs"
import * as os from "node:os"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { AgentClient } from "../agent-client.ts"
import { type RunningAgent, startOurs } from "../agent-harness.ts"
import { type LoopbackTarget, loopbackTarget, podIp } from "../loopback-target.ts"
import { makeApplication } from "./application.ts"
import { incomingSuite } from "./incoming-suite.ts"
import { type IncomingWorld, patientSecs } from "./incoming-world.ts"
import { stealFiltered } from "./suite-messages.ts"

const startWorld = async (): Promise<IncomingWorld> => {
  const application = makeApplication()
  const { close, entry, redirected, target } = await loopbackTarget(application, { root: "/" })
  return {
    entry,
    peerIp: podIp,
    podIp,
    redirected,
    startAgent: ({ httpDetectionTimeoutSecs = patientSecs } = {}) =>
      startOurs({ target, idleTtlSecs: 600, httpDetectionTimeoutSecs }),
    stopApplication: () => new Promise((resolve) => application.close(() => resolve())),
    close
  }
}

describe("the reference agent", () => {
  incomingSuite(startWorld)
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

  it.each([
    ["Body", { _tag: "Body", value: { _tag: "Json", query: "$", matches: "a" } }],
    ["HeaderJq", { _tag: "HeaderJq", value: "true" }]
  ] as const)("a filter of the kind %s is refused with its name", async (kind, filter) => {
    expect(await client.ask(stealFiltered(filter))).toEqual({
      _tag: "Close",
      value: `Invalid HTTP filter: the reference agent has no filters of the kind ${kind}`
    })
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

/** A network of its own: doors lead in and out, and nothing else does. */

import { once } from "node:events"
import { existsSync } from "node:fs"
import { connect, createServer, type Server } from "node:net"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type ClosedNetwork, openClosedNetwork } from "../../../lab/playground/closed-network.ts"
import { describeWith } from "../../support/describe-with.ts"
import { untilTrue } from "../../support/until-true.ts"

/** A server here that answers with a word, and ends only after the other side's end. */
const greeter = (word: string): Server =>
  createServer({ allowHalfOpen: true }, (socket) => socket.resume().on("end", () => socket.end(word)))

const listening = async (server: Server): Promise<number> => {
  await once(server.listen(0, "127.0.0.1"), "listening")
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

/** The word at an address of this machine, or the error's code. */
const wordAt = (port: number): Promise<string> =>
  new Promise((resolve) => {
    let word = ""
    const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true }).setEncoding("utf8")
    socket.on("data", (text) => (word += String(text))).on("end", () => resolve(word))
    socket.on("error", ({ message }) => resolve(message)).end()
  })

const dial = (port: number): ReadonlyArray<string> => [
  "-e",
  `const to = require("node:net").connect({ host: "127.0.0.1", port: ${port}, allowHalfOpen: true })
   to.on("error", ({ code }) => console.log(code)).on("data", (word) => console.log(String(word))).end()`
]

describeWith(["network namespaces"], "a network of its own", () => {
  const scope = Effect.runSync(Scope.make())
  const servers: Array<Server> = []
  let network: ClosedNetwork
  const there = async (port: number): Promise<string> =>
    (await network.output([process.execPath, ...dial(port)])).trim()
  const serve = (word: string): Server => {
    const server = greeter(word)
    servers.push(server)
    return server
  }
  beforeAll(async () => {
    network = await Effect.runPromise(openClosedNetwork.pipe(Scope.provide(scope)))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  it("reaches a port of this machine by a door alone", async () => {
    const server = serve("outside")
    const port = await listening(server)
    expect([await wordAt(port), await there(port)]).toEqual(["outside", "ECONNREFUSED"])
    await network.listenAt({ host: "127.0.0.1", port }, serve("by the door"))
    expect([await wordAt(port), await there(port)]).toEqual(["outside", "by the door"])
    await expect(network.listenAt({ host: "127.0.0.1", port }, serve("twice"))).rejects.toThrow("EADDRINUSE")
  })

  it("is reached by a door alone, with the ends of both sides", async () => {
    const inside = { host: "127.0.0.1", port: 7_000 }
    await network.listenAt(inside, serve("inside"))
    const port = await network.leadTo(inside, { host: "127.0.0.1", port: 0 })
    expect([await wordAt(port), await wordAt(port)]).toEqual(["inside", "inside"])
    await expect(network.leadTo(inside, { host: "127.0.0.1", port })).rejects.toThrow("EADDRINUSE")
  })

  it("ends with its scope, and its doors with it", async () => {
    const port = await network.leadTo({ host: "127.0.0.1", port: 7_000 }, { host: "127.0.0.1", port: 0 })
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await untilTrue("the process that held it has ended", () => !existsSync(`/proc/${network.pid}`))
    await untilTrue("the door is closed", async () => (await wordAt(port)).includes("ECONNREFUSED"))
    for (const server of servers) server.close()
  })
})

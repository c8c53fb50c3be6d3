import { describe, expect, it } from "vitest"
import { Outlet } from "../../../src/adapters/stream/outlet.ts"
import { turns } from "../../support/turns.ts"
import { FakeSocket } from "./support/fake-socket.ts"

const outlets = () => {
  const order: Array<string> = []
  const named = (name: string): Outlet => {
    const socket = new FakeSocket()
    const write = socket._writev.bind(socket)
    socket._writev = (chunks, done) => {
      order.push(`${name} ${Buffer.concat(chunks.map(({ chunk }) => chunk)).toString("hex")}`)
      write(chunks, done)
    }
    return new Outlet(socket, "plain", () => {})
  }
  return { order, client: named("client"), agent: named("agent") }
}

describe("the beginning of a message without content", () => {
  it("leaves behind what the turn sends to others, once, and is completed by the next message", async () => {
    const { agent, client, order } = outlets()
    client.begin()
    client.begin()
    agent.send(Buffer.from("a"))
    await turns(1)
    expect(order).toEqual(["agent 820161", "client 0200"])
    client.send(Buffer.from("b"))
    await turns(1)
    expect(order.at(-1)).toBe("client 800162")
  })

  it("is left out where the turn sends a message, and behind the end", async () => {
    const { client, order } = outlets()
    client.begin()
    client.send(Buffer.from("b"))
    await turns(1)
    expect(order).toEqual(["client 820162"])
    client.begin()
    client.shut()
    await turns(1)
    expect(order).toHaveLength(1)
  })
})

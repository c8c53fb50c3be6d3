import http from "node:http"
import { connect, createServer } from "node:net"
import { text } from "node:stream/consumers"
import { Effect, Result } from "effect"
import { afterEach, expect, it } from "vitest"
import { askUpgrade, carryRequest } from "../../../src/adapters/kubernetes/carry-request.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { listenLocally } from "../../support/listen-locally.ts"

const closers: Array<() => void> = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** Asks through a primary for what a member answers; an upgrade too. */
const askMember = async (answer: string, headers: http.OutgoingHttpHeaders): Promise<http.IncomingMessage> => {
  const member = createServer((lane) => void lane.once("data", () => lane.end(answer)))
  const to = await listenLocally(member)
  const carried = () => ({
    cluster: clusterName("b"),
    target: "/api/v1/pods",
    id: "1",
    person: { user: "ann", groups: [], extra: {} },
    lane: connect(to, "127.0.0.1")
  })
  const primary = http.createServer(async (request, response) => {
    const asked: Effect.Effect<unknown, string> =
      "upgrade" in headers ? askUpgrade(carried(), request) : carryRequest(carried(), request, response)
    const result = await Effect.runPromise(Effect.result(asked))
    if (Result.isFailure(result)) response.writeHead(502).end(result.failure)
  })
  const port = await listenLocally(primary)
  closers.push(
    () => member.close(),
    () => primary.close()
  )
  return new Promise((resolve, reject) => {
    http.get({ port, headers, agent: false }, resolve).on("error", reject)
  })
}

it.each([
  ["000 x", {}],
  ["099 x", {}],
  ["600 x", {}],
  ["999 x", {}],
  ["999 x", { connection: "Upgrade", upgrade: "websocket" }]
])("a member's answer with a status that HTTP has not is refused: %s, %j", async (status, headers) => {
  const answer = await askMember(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`, headers)
  expect([answer.statusCode, await text(answer)]).toEqual([
    502,
    `its answer has the status ${Number(status.slice(0, 3))}, which HTTP has not`
  ])
})

it("words beside a status that no server may write are left out, and others pass", async () => {
  for (const [sent, passed] of [
    ["a\u0001b", "OK"],
    ["Slow Down", "Slow Down"]
  ]) {
    const answer = await askMember(`HTTP/1.1 200 ${sent}\r\nContent-Length: 2\r\n\r\nok`, {})
    expect([answer.statusCode, answer.statusMessage, await text(answer)]).toEqual([200, passed, "ok"])
  }
})

import { once } from "node:events"
import type { TLSSocket } from "node:tls"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Certificates, makeCertificates, root, runApi, textOf } from "./running-api.ts"

let certificates: Certificates
let api: Awaited<ReturnType<typeof runApi>>

beforeAll(async () => {
  certificates = await makeCertificates()
  api = await runApi(certificates, {}, { describe: Effect.never })
})
afterAll(() => api.stop())

/** The answer to a text, as its status line and its body. */
const answerTo = async (text: string, front = true): Promise<readonly [line: string, body: unknown]> => {
  const socket = await api.dial(front ? certificates.proxy : undefined)
  socket.write(text)
  return read(socket)
}

const read = async (socket: TLSSocket): Promise<readonly [line: string, body: unknown]> => {
  const [head = "", body = ""] = (await textOf(socket)).split("\r\n\r\n")
  expect(head).toMatch(/^content-type: application\/json/im)
  return [head.split("\r\n")[0] ?? "", JSON.parse(body) as unknown]
}

const status = (code: number, reason: string, message: unknown) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  code,
  reason,
  message
})

describe("a request that cannot be read is answered with a Status", () => {
  it.each([
    ["with a control character in a header", "GET / HTTP/1.1\r\nHost: x\r\nx: \u0001\r\n\r\n"],
    ["of another protocol", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["with a length that is none", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"],
    ["with two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"]
  ])("%s: 400", async (_, text) => {
    for (const front of [true, false]) {
      expect(await answerTo(text, front)).toEqual([
        "HTTP/1.1 400 BadRequest",
        status(400, "BadRequest", expect.stringMatching(/^The request is no HTTP\/1\.1: .+\.$/u))
      ])
    }
  })

  it("with headers that are too large: 431", async () => {
    expect(await answerTo(`GET / HTTP/1.1\r\nHost: x\r\nx: ${"x".repeat(1_100_000)}\r\n\r\n`)).toEqual([
      "HTTP/1.1 431 RequestHeaderFieldsTooLarge",
      status(431, "RequestHeaderFieldsTooLarge", "The headers of the request are too large.")
    ])
  })

  it("that expects something: 400", async () => {
    expect(await answerTo("GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: x\r\n\r\n")).toEqual([
      "HTTP/1.1 400 Bad Request",
      status(400, "BadRequest", 'The header Expect is "x"; only 100-continue is served.')
    ])
  })

  it("behind a request that is being answered: in its place, and the connection ends", async () => {
    const line = `GET ${root}/mirrordoperators/operator HTTP/1.1\r\nHost: x\r\nX-Remote-User: dev\r\n\r\n`
    expect(await answerTo(`${line}\u0001`)).toEqual(["HTTP/1.1 400 BadRequest", expect.anything()])
  })
})

it("a request without a Host is served", async () => {
  const socket = await api.dial(certificates.proxy)
  socket.write("GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n")
  expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nok$/u)
})

it("a client that breaks off is not answered", async () => {
  const socket = await api.dial(certificates.proxy)
  socket.write("GET /livez HTTP/1.1\r\nHost:")
  socket.destroy()
  await once(socket, "close")
  expect((await api.get("/livez")).body).toBe("ok")
})

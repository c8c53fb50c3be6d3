import { describe, expect, it } from "vitest"
import { answersProblem, readAnswers } from "../../../lab/fuzz/http-answer.ts"

const status = (code: number, message = "No."): string =>
  JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    code,
    reason: "BadRequest",
    message
  })

const answer = (code: number, body: string, type = "application/json"): string =>
  `HTTP/1.1 ${code} x\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

const problemOf = (text: string, isHead = false): string | undefined =>
  answersProblem(readAnswers(Buffer.from(text), isHead), isHead)

describe("an answer is right", () => {
  it.each([
    ["as a Status", answer(400, status(400))],
    ["as an object", answer(200, "{}")],
    ["two in a row", answer(200, "{}") + answer(404, status(404))],
    ["in chunks", `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ["as another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\u0001\u0002"],
    ["when it breaks off", answer(400, status(400)).slice(0, -3)],
    ["behind a word to go on", `HTTP/1.1 100 Continue\r\n\r\n${answer(200, "{}")}`],
    ["as nothing", ""]
  ])("%s", (_, text) => expect(problemOf(text)).toBeUndefined())

  it("to a HEAD, without a body, and with the body of a server that has not read so far", () => {
    const head = "HTTP/1.1 404 x\r\nContent-Length: 7\r\n\r\n"
    expect(problemOf(head, true)).toBeUndefined()
    expect(problemOf(head + answer(400, status(400)), true)).toBeUndefined()
  })
})

describe("an answer is wrong", () => {
  it.each([
    ["without a Status", answer(400, ""), "the body of a 400 is no Status"],
    ["with the Status of another code", answer(400, status(404)), "a 400 has another Status"],
    ["with an empty message", answer(400, status(400, "")), "the Status of a 400 says nothing"],
    ["with control characters", answer(400, status(400, "a\u0007b")), "the message of a 400 has control characters"],
    ["with another type", answer(400, status(400), "text/plain"), "a 400 has the type text/plain"],
    ["that blames the operator", answer(500, status(500)), "500 blames the operator"],
    ["with a code that clients repeat on", answer(429, status(429)), "429 is no code of the operator's API"],
    ["that is no HTTP", "HTTP/1.1 OK\r\n\r\n", "the status line"],
    ["with a header that is none", "HTTP/1.1 200 OK\r\nno header\r\n\r\n", "the header line"],
    ["with chunks that are none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "the chunks"]
  ])("%s", (_, text, problem) => expect(problemOf(text)).toContain(problem))
})

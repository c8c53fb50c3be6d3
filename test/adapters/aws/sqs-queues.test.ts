/** The queues of SQS by the SDK, against a stand-in: what no server of this machine shows, and what is sent to it. */

import { execFile } from "node:child_process"
import { createServer, type ServerResponse } from "node:http"
import { connect } from "node:net"
import { pipeline } from "node:stream"
import { json } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { afterEach, beforeEach, describe, expect, vi } from "vitest"
import { sqsQueues } from "../../../src/adapters/aws/sqs-queues.ts"
import { callLimit, MessageQueues, type QueueError, type SendEntry } from "../../../src/ports/message-queues.ts"
import { it } from "../../support/effect-it.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { until } from "../../support/until.ts"

const canary = "a canary"
const keys = { AWS_ACCESS_KEY_ID: "AKIAEXAMPLE", AWS_SECRET_ACCESS_KEY: "s3cr3t", AWS_REGION: "eu-north-1" }

interface Asked {
  /** Such as `ReceiveMessage`. */
  readonly operation: string
  readonly body: unknown
  readonly authorization: string
  readonly response: ServerResponse
}

/** Speaks the protocol of SQS (AWS JSON 1.0). Its clients alone close connections. */
class StandIn {
  readonly asked: Array<Asked> = []
  /** Connections that were ever made, and those of them that are open. */
  connections = 0
  open = 0
  /** A status with a body; `undefined` is no answer. */
  answer: (asked: Asked) => readonly [status: number, body: object | string] | undefined = () => [200, {}]
  readonly server = createServer({ keepAliveTimeout: 0 }, async (request, response) => {
    const { authorization = "", "x-amz-target": target } = request.headers
    const operation = String(target).replace("AmazonSQS.", "")
    const asked = { operation, authorization, response, body: await json(request) }
    this.asked.push(asked)
    const [status, body] = this.answer(asked) ?? []
    const type = { "content-type": "application/x-amz-json-1.0" }
    if (status !== undefined)
      response.writeHead(status, type).end(typeof body === "string" ? body : JSON.stringify(body))
  }).on("connection", (socket) => {
    this.connections++
    this.open++
    socket.on("close", () => this.open--)
  })
}
const sqsError = (status: number, type: string, message = "words") =>
  [status, { __type: `com.amazonaws.sqs#${type}`, message }] as const

let standIn: StandIn
let [port, url] = [0, ""]
const setVariables = (variables: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
}
beforeEach(async () => {
  standIn = new StandIn()
  port = await listenLocally(standIn.server)
  url = `http://127.0.0.1:${port}/123456789012/q`
  // Nothing of the machine's own.
  for (const name of Object.keys(process.env)) if (/^AWS_|_proxy$/iu.test(name)) vi.stubEnv(name, undefined)
  const noFiles = { AWS_CONFIG_FILE: "/dev/null", AWS_SHARED_CREDENTIALS_FILE: "/dev/null" }
  setVariables({ ...keys, ...noFiles, AWS_EC2_METADATA_DISABLED: "true", AWS_ENDPOINT_URL: `http://127.0.0.1:${port}` })
})
const close = async (): Promise<void> => {
  standIn.server.closeAllConnections()
  await new Promise((resolve) => standIn.server.close(resolve))
}
afterEach(async () => {
  vi.unstubAllEnvs()
  await close()
})

type Queues = MessageQueues["Service"]
const withQueues = <A, E>(use: (queues: Queues) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.provide(Effect.flatMap(MessageQueues, use), sqsQueues)
const done = <A, E>(use: (queues: Queues) => Effect.Effect<A, E>): Promise<A> => Effect.runPromise(withQueues(use))
const failure = (use: (queues: Queues) => Effect.Effect<unknown, QueueError>): Promise<QueueError> =>
  done((queues) => Effect.flip(use(queues)))

const entry: SendEntry = { Id: "1", MessageBody: canary, MessageAttributes: {} }
const receive = (queues: Queues, of = url, waitSeconds = 0) =>
  queues.receive({ url: of, max: 10, waitSeconds, visibilitySeconds: 30 })
const send = ({ sendBatch }: Queues) => sendBatch(url, [entry])
const newQueue = { name: "new", attributes: {}, tags: {} }

describe("a failure", () => {
  it.each([
    ["NoQueue", 400, "QueueDoesNotExist"],
    ["DeletedRecently", 400, "QueueDeletedRecently"],
    ["OtherAttributes", 400, "QueueNameExists"],
    ["InvalidHandle", 400, "ReceiptHandleIsInvalid MessageNotInflight"],
    ["Denied", 403, "AccessDeniedException AccessDenied KmsAccessDenied KmsOptInRequired InvalidSecurity"],
    ["Denied", 403, "InvalidClientTokenId UnrecognizedClientException InvalidSignatureException ExpiredToken"],
    ["Throttled", 400, "RequestThrottled ThrottlingException Throttling KmsThrottled OverLimit"],
    ["Throttled", 503, "ThrottlingException"],
    ["Unavailable", 500, "InternalFailure InternalError AnythingElse"],
    ["Unavailable", 503, "ServiceUnavailable"],
    ["Invalid", 400, "InvalidAddress InvalidAttributeValue InvalidMessageContents InvalidParameterValue"],
    ["Invalid", 400, "MissingParameter BatchRequestTooLong UnsupportedOperation MessageTooLong ValidationException"],
    ["Other", 400, "KmsDisabled AnythingElse"]
  ])("is %s by the name of the error, with status %d: %s", async (reason, status, names) => {
    for (const name of names.split(" ")) {
      standIn.answer = () => sqsError(status, name, `it holds ${canary}`)
      const { detail, message, reason: told } = await failure(send)
      expect([name, told]).toEqual([name, reason])
      expect(message).toBe(`SendMessageBatch of ${url}: ${detail}`)
      expect(detail).toContain(name)
      expect(detail.includes("canary")).toBe(name.startsWith("AccessDenied"))
    }
    expect(standIn.asked).toHaveLength(names.split(" ").length)
  })

  it.each([
    ["a page of a proxy", [502, "<html>canary</html>"]],
    ["an answer without words", [403, ""]],
    ["an answer that is cut off", [200, `{"Messages": [{"Body": "canary`]],
    ["a body with another checksum", [200, { Messages: [{ MessageId: "i", Body: canary, MD5OfBody: "0" }] }]]
  ] as const)("is %s, and the next call succeeds", async (_, answer) => {
    standIn.answer = () => (standIn.asked.length === 1 ? answer : [200, {}])
    const [first, second] = await done((queues) => Effect.all([Effect.flip(receive(queues)), receive(queues)]))
    expect([first.reason, second]).toEqual(["Unavailable", []])
    expect(first.detail).toMatch(/^SQS gave no answer that can be used \([\w ]+\)$/u)
  })

  it("is a server that breaks off, or is not there", async () => {
    standIn.answer = ({ response }) => void response.destroy()
    const broken = await failure(receive)
    await close()
    const absent = await failure(receive)
    expect([broken.reason, absent.reason]).toEqual(["Unavailable", "Unavailable"])
    expect([broken.detail, absent.detail].join()).toMatch(/ECONNRESET.*ECONNREFUSED/u)
  })

  it("quotes SQS where that can neither hold a message nor a credential", async () => {
    standIn.answer = () => sqsError(403, "AccessDenied", `User: arn:aws:iam::1:user/x may not sqs:sendmessage`)
    expect((await failure(send)).detail).toContain("user/x may not sqs:sendmessage")
    standIn.answer = () => sqsError(400, "InvalidAttributeValue", "VisibilityTimeout is too long")
    const created = await failure((queues) => queues.create({ ...newQueue, beside: url }))
    expect(created.message).toMatch(/^CreateQueue of new: .*VisibilityTimeout is too long/u)
    standIn.answer = () => sqsError(403, "InvalidSignatureException", "the Canonical String was: POST short-token")
    expect((await failure((queues) => queues.tags(url))).detail).not.toContain("short-token")
  })

  it("of an entry has its own reason", async () => {
    const old = "AWS.SimpleQueueService.NonExistentQueue"
    const reasons = { InternalError: "Unavailable", [old]: "NoQueue", InvalidParameterValue: "Invalid", No: "Other" }
    const Failed = Object.keys(reasons).map((Code) => ({ Id: Code, Code, SenderFault: true, Message: canary }))
    const late = { Id: "late", Code: "No", SenderFault: false }
    standIn.answer = () => [200, { Successful: [{ Id: "well" }], Failed: [...Failed, late] }]
    const sent = await done(send)
    expect(sent.failed.map(({ reason }) => reason)).toEqual([...Object.values(reasons), "Unavailable"])
    expect([...sent.succeeded]).toEqual(["well"])
    expect(JSON.stringify(sent.failed)).not.toContain("canary")
    const deleted = await done((queues) => queues.deleteBatch(url, [{ Id: "1", ReceiptHandle: "x" }]))
    expect(deleted.failed[2]?.reason).toBe("InvalidHandle")
  })
})

describe("a call", () => {
  it.effect("ends after its time limit, a poll after its wait beside that", () =>
    withQueues((queues) =>
      Effect.gen(function* () {
        standIn.answer = () => undefined
        const failing = (call: Effect.Effect<unknown, QueueError>) => Effect.forkChild(Effect.flip(call))
        const calls = [yield* failing(queues.tags(url)), yield* failing(receive(queues, url, 20))]
        yield* Effect.promise(() => until("both arrive", () => standIn.asked.length === 2 || undefined))
        for (const [time, isOver] of [
          [callLimit - 1, false],
          [1, true],
          [19_999, true]
        ] as const) {
          yield* TestClock.adjust(time)
          expect(calls.map((call) => call.pollUnsafe() !== undefined)).toEqual([isOver, false])
        }
        yield* TestClock.adjust(1)
        const failures = yield* Effect.all(calls.map(Fiber.join))
        expect(failures.map(({ reason }) => reason)).toEqual(["Unavailable", "Unavailable"])
      })
    )
  )

  it("for messages says how long to wait, and closes its connection when it is interrupted", async () => {
    standIn.answer = () => undefined
    await done((queues) =>
      Effect.gen(function* () {
        const poll = yield* Effect.forkChild(receive(queues, url, 20))
        const { body, response } = yield* Effect.promise(() => until("it arrives", () => standIn.asked[0]))
        expect(body).toMatchObject({ MaxNumberOfMessages: 10, WaitTimeSeconds: 20, VisibilityTimeout: 30 })
        const closed = new Promise((resolve) => response.once("close", resolve))
        yield* Fiber.interrupt(poll)
        yield* Effect.promise(() => closed)
      })
    )
  })

  it("does not wait for polls, however many there are, and leaves no connection behind", async () => {
    standIn.answer = ({ operation }) => (operation === "ReceiveMessage" ? undefined : [200, {}])
    await done((queues) =>
      Effect.gen(function* () {
        for (let poll = 0; poll < 60; poll++) yield* Effect.forkChild(receive(queues, url, 20))
        yield* Effect.promise(() => until("all arrive", () => standIn.asked.length === 60 || undefined))
        for (let call = 0; call < 5; call++) yield* queues.tags(url)
        expect(standIn.connections).toBe(61)
      })
    )
    await until("all are closed", () => standIn.open === 0 || undefined)
  })

  it("loads the SDK, which nothing else does", async () => {
    const program = fileURLToPath(new URL("sqs-loaded.ts", import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [program, url])
    expect(JSON.parse(stdout)).toEqual({ before: false, after: true })
  })

  it.each([
    ["http://127.0.0.1:1/123456789012/q", "host"],
    ["https://sqs.eu-west-1.amazonaws.com.example.org/123456789012/q", "host"],
    ["https://127.0.0.1/123456789012/q", "host"],
    ["q", "URL is needed"]
  ])("with %s is refused before any request", async (foreign, why) => {
    const uses: ReadonlyArray<(queues: Queues) => Effect.Effect<unknown, QueueError>> = [
      (queues) => receive(queues, foreign),
      ({ sendBatch }) => sendBatch(foreign, [entry]),
      ({ deleteBatch }) => deleteBatch(foreign, [{ Id: "1", ReceiptHandle: "x" }]),
      ...(["attributes", "tags", "delete"] as const).map((call) => (queues: Queues) => queues[call](foreign)),
      ({ create }) => create({ ...newQueue, beside: foreign })
    ]
    for (const use of uses) {
      const { detail, reason } = await failure(use)
      expect([reason, detail]).toEqual(["Invalid", expect.stringContaining(why)])
    }
    expect(standIn.asked).toEqual([])
  })

  it("makes a queue with attributes, and with tags where there are some", async () => {
    standIn.answer = () => [200, { QueueUrl: url }]
    const created = { ...newQueue, beside: url, attributes: { VisibilityTimeout: "7" } }
    for (const tags of [{}, { a: "b" }]) await done((queues) => queues.create({ ...created, tags }))
    const input = { QueueName: "new", Attributes: { VisibilityTimeout: "7" } }
    expect(standIn.asked.map(({ body }) => body)).toEqual([input, { ...input, tags: { a: "b" } }])
  })

  it("tells that a queue was made in another account", async () => {
    const made = url.replace("123456789012", "999999999999")
    standIn.answer = () => [200, { QueueUrl: made }]
    const { detail, reason } = await failure((queues) => queues.create({ ...newQueue, beside: url }))
    expect(reason).toBe("Invalid")
    for (const part of ["123456789012", "999999999999", `delete ${made}`]) expect(detail).toContain(part)
  })
})

describe("the identity", () => {
  it("signs for the region, and is looked for again once it was not there or was refused", async () => {
    setVariables({ AWS_ACCESS_KEY_ID: "" })
    standIn.answer = () => (standIn.asked.length === 1 ? sqsError(403, "InvalidClientTokenId") : [200, {}])
    await done((queues) =>
      Effect.gen(function* () {
        const none = yield* Effect.flip(queues.tags(url))
        expect(none.reason).toBe("Denied")
        expect(none.detail).toMatch(/CredentialsProviderError: .* sa\.roleArn .* Pod Identity/u)
        expect(standIn.asked).toEqual([])
        setVariables({ AWS_ACCESS_KEY_ID: "AKIAOLD" })
        expect((yield* Effect.flip(queues.tags(url))).reason).toBe("Denied")
        setVariables(keys)
        yield* queues.tags(url)
      })
    )
    const signed = standIn.asked.map(({ authorization }) =>
      /=(.+)\/\d+\/(.+)\/sqs/u.exec(authorization)?.slice(1).join()
    )
    expect(signed).toEqual(["AKIAOLD,eu-north-1", "AKIAEXAMPLE,eu-north-1"])
  })

  it("needs a region where no URL has one", async () => {
    vi.stubEnv("AWS_REGION", undefined)
    expect((await failure(({ urlOf }) => urlOf("q"))).detail).toContain("set AWS_REGION")
  })
})

describe("the proxy of the environment", () => {
  const connects: Array<string | undefined> = []
  /** Opens connections to the stand-in alone, whatever is asked for. */
  const proxy = createServer().on("connect", ({ url: target = "" }, socket) => {
    connects.push(target)
    if (!target.endsWith(":80")) return void socket.end("HTTP/1.1 403 Forbidden\r\n\r\n")
    socket.write("HTTP/1.1 200 OK\r\n\r\n")
    pipeline(socket, connect(port, "127.0.0.1"), socket, () => undefined)
  })
  beforeEach(async () => {
    connects.length = 0
    const address = `http://127.0.0.1:${await listenLocally(proxy)}`
    setVariables({ AWS_ENDPOINT_URL: "", HTTPS_PROXY: address, HTTP_PROXY: address })
  })
  afterEach(() => new Promise((resolve) => void proxy.close(resolve)))

  it.each([
    ["sqs.eu-west-1.amazonaws.com", "sqs.eu-west-1.amazonaws.com:443"],
    ["eu-west-1.queue.amazonaws.com", "sqs.eu-west-1.amazonaws.com:443"],
    ["vpce-0a-b.sqs.eu-west-1.vpce.amazonaws.com", "sqs.eu-west-1.amazonaws.com:443"],
    ["sqs.cn-north-1.amazonaws.com.cn", "sqs.cn-north-1.amazonaws.com.cn:443"]
  ])("leads to the region's host for a queue of %s", async (host, asked) => {
    // The proxy is meant for this host too.
    vi.stubEnv("NO_PROXY", host.endsWith(".cn") ? ".amazonaws.com" : "")
    expect((await failure(({ tags }) => tags(`http://${host}/123456789012/q`))).reason).toBe("Unavailable")
    expect(connects).toEqual([asked])
  })

  it("leads to STS, where the identity comes from there", async () => {
    setVariables({ AWS_ACCESS_KEY_ID: "", AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/operator" })
    setVariables({ AWS_WEB_IDENTITY_TOKEN_FILE: import.meta.filename })
    expect((await failure(({ urlOf }) => urlOf("q"))).reason).toBe("Denied")
    expect(connects).toEqual(["sts.eu-north-1.amazonaws.com:443"])
  })

  it("keeps its connections", async () => {
    vi.stubEnv("AWS_ENDPOINT_URL", "http://sqs.example")
    const tagsOf = ({ tags }: Queues) => tags("http://sqs.example/123456789012/q")
    await done((queues) => Effect.andThen(tagsOf(queues), tagsOf(queues)))
    expect([connects, standIn.asked.length]).toEqual([["sqs.example:80"], 2])
  })
})

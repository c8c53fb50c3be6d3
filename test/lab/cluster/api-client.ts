import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { request as httpsRequest } from "node:https"
import type { Duplex } from "node:stream"
import { asObject, asObjects, asString, at, type JsonObject } from "../../../src/domain/json.ts"
import { until } from "../../support/until.ts"

/** The client certificate or token of a test's user; none is anonymous. */
export interface Credentials {
  readonly cert?: string
  readonly key?: string
  readonly token?: string
}

export interface Answer {
  readonly code: number
  readonly body: JsonObject
  readonly text: string
  readonly headers: IncomingMessage["headers"]
}

export interface CallOptions {
  readonly headers?: Record<string, string>
  /** Objects are sent as JSON, strings as they are. */
  readonly body?: unknown
  readonly contentType?: string
}

const closed = (res: IncomingMessage): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    res.on("data", (chunk: Buffer) => chunks.push(chunk))
    res.on("end", () => resolve(Buffer.concat(chunks)))
    res.on("error", reject)
  })

const answerOf = async (res: IncomingMessage): Promise<Answer> => {
  const text = (await closed(res)).toString("utf8")
  const json = (res.headers["content-type"] ?? "").startsWith("application/json")
  return { code: res.statusCode ?? 0, body: json ? asObject(JSON.parse(text)) : {}, text, headers: res.headers }
}

/** A watch, or any other answer of JSON lines that does not end. */
export class LineReader {
  readonly #res: IncomingMessage
  readonly #lines: Array<JsonObject> = []
  #rest = ""
  ended = false
  constructor(res: IncomingMessage) {
    this.#res = res
    // The decoder joins characters that are split between two chunks.
    res.setEncoding("utf8").on("data", (chunk: string) => {
      const parts = (this.#rest + chunk).split("\n")
      this.#rest = parts.pop() ?? ""
      for (const part of parts) this.#lines.push(asObject(JSON.parse(part)))
    })
    const end = (): void => {
      this.ended = true
    }
    res.on("close", end).on("end", end).on("error", end)
  }
  next(): Promise<JsonObject> {
    return until("the next line of a stream", () => {
      const line = this.#lines.shift()
      if (line === undefined && this.ended) throw new Error("the stream ended")
      return line
    })
  }
  /** The next event as `ADDED name`. */
  async nextShort(): Promise<string> {
    const event = await this.next()
    return `${asString(event["type"]) ?? ""} ${asString(at(event, "object", "metadata", "name")) ?? ""}`
  }
  close(): void {
    this.#res.destroy()
  }
}

/** A plain HTTP client without any Kubernetes library: tests see exactly what an API server sends. */
export class ApiClient {
  readonly server: string
  readonly #caPem: string
  readonly #credentials: Credentials
  constructor(server: string, caPem: string, credentials: Credentials) {
    this.server = server
    this.#caPem = caPem
    this.#credentials = credentials
  }

  open(method: string, path: string, options: CallOptions = {}): ReturnType<typeof request> {
    const { cert, key, token } = this.#credentials
    const url = new URL(this.server)
    const req = httpsRequest({
      host: url.hostname,
      port: url.port,
      method,
      path,
      agent: false,
      ca: this.#caPem,
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      headers: {
        "User-Agent": "api-test/1",
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(options.body === undefined ? {} : { "Content-Type": options.contentType ?? "application/json" }),
        ...options.headers
      }
    })
    // Callers see errors through `once` or through the answer; this listener only keeps the process alive.
    req.on("error", () => {})
    return req
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const req = this.open(method, path, options)
    const answered = once(req, "response")
    const { body = "" } = options
    const sent = typeof body === "string" ? body : JSON.stringify(body)
    // Node sets no Content-Length for a DELETE.
    req.setHeader("Content-Length", Buffer.byteLength(sent))
    req.end(sent)
    const res: IncomingMessage = (await answered)[0]
    return answerOf(res)
  }

  get = (path: string, headers: Record<string, string> = {}) => this.call("GET", path, { headers })
  post = (path: string, body: unknown) => this.call("POST", path, { body })
  put = (path: string, body: unknown) => this.call("PUT", path, { body })
  delete = (path: string, body?: unknown) => this.call("DELETE", path, { body })
  merge = (path: string, body: unknown) =>
    this.call("PATCH", path, { body, contentType: "application/merge-patch+json" })
  jsonPatch = (path: string, body: unknown) =>
    this.call("PATCH", path, { body, contentType: "application/json-patch+json" })
  strategic = (path: string, body: unknown) =>
    this.call("PATCH", path, { body, contentType: "application/strategic-merge-patch+json" })

  /** Opens a watch. An answer other than 200 is an error. */
  async watch(path: string, headers: Record<string, string> = {}): Promise<LineReader> {
    const req = this.open("GET", path, { headers })
    const answered = once(req, "response")
    req.end()
    const res: IncomingMessage = (await answered)[0]
    if (res.statusCode !== 200)
      throw new Error(`watch ${path}: ${res.statusCode} ${(await closed(res)).toString("utf8")}`)
    return new LineReader(res)
  }

  /** Asks for an upgrade; resolves with the socket after 101, or the refusal. */
  upgrade(
    path: string,
    headers: Record<string, string>
  ): Promise<{ readonly socket: Duplex; readonly answer: IncomingMessage } | Answer> {
    const req = this.open("GET", path, { headers: { Connection: "Upgrade", Upgrade: "websocket", ...headers } })
    return new Promise((resolve, reject) => {
      req.on("upgrade", (answer, socket, head) => {
        if (head.length > 0) socket.unshift(head)
        resolve({ socket, answer })
      })
      req.on("response", (res) => {
        void answerOf(res).then(resolve, reject)
      })
      req.on("error", reject)
      req.end()
    })
  }
}

/** Repeats a request until its result is as wanted: a real cluster does some things a little later. */
export const eventually = async <A>(ask: () => Promise<A>, wanted: (value: A) => boolean): Promise<A> => {
  let value: A | undefined
  const attempt = async (): Promise<{ readonly value: A } | undefined> => {
    const seen = await ask()
    value = seen
    return wanted(seen) ? { value: seen } : undefined
  }
  try {
    return (await until("what is wanted", attempt)).value
  } catch (error) {
    throw new Error(`never as wanted: ${JSON.stringify(value)}`, { cause: error })
  }
}

export const namesOf = (answer: Answer): ReadonlyArray<string> =>
  asObjects(answer.body["items"]).map((item) => asString(at(item, "metadata", "name")) ?? "")

/**
 * Judges the bytes with which an operator answers HTTP: each answer is well-formed, its code is right for its caller,
 * and each error is a Kubernetes Status (operator-api.md §2.5). Sends nothing.
 */

import { asString, at, isObject } from "../../src/domain/json.ts"

/** An answer, read from bytes. */
export interface HttpAnswer {
  readonly code: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

export interface Answers {
  readonly answers: ReadonlyArray<HttpAnswer>
  /** Bytes behind the headers of a 101: another protocol. */
  readonly upgraded: Buffer | undefined
  /** Whether the last answer is not whole. */
  readonly isCut: boolean
  /** The flaw that ended the reading, if there is one. */
  readonly problem: string | undefined
}

const chunked = (bytes: Buffer): { readonly body: Buffer; readonly used: number } | "cut" | "wrong" => {
  const parts: Array<Buffer> = []
  for (let from = 0; ;) {
    const end = bytes.indexOf("\r\n", from)
    if (end < 0) return "cut"
    const text = bytes.subarray(from, end).toString("latin1")
    if (!/^[0-9a-f]+$/i.test(text)) return "wrong"
    const size = Number.parseInt(text, 16)
    const next = end + 2 + size + 2
    if (bytes.length < next) return "cut"
    if (bytes.subarray(next - 2, next).toString("latin1") !== "\r\n") return "wrong"
    parts.push(bytes.subarray(end + 2, end + 2 + size))
    if (size === 0) return { body: Buffer.concat(parts), used: next }
    from = next
  }
}

interface Head {
  readonly code: number
  readonly headers: ReadonlyMap<string, string>
  readonly size: number
}

const readHead = (bytes: Buffer): Head | "cut" | string => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return bytes.length > 65_536 ? "headers without an end" : "cut"
  const [status = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n")
  const code = /^HTTP\/1\.1 ([1-5]\d\d) [ -~]*$/.exec(status)?.[1]
  if (code === undefined) return `the status line ${JSON.stringify(status.slice(0, 100))}`
  const headers = new Map<string, string>()
  for (const line of lines) {
    const [, name, value] = /^([!#-'*+\-.^-`|~\w]+): ?([\t -~\u0080-\u00ff]*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) return `the header line ${JSON.stringify(line.slice(0, 100))}`
    headers.set(name.toLowerCase(), value.trim())
  }
  return { code: Number(code), headers, size: end + 4 }
}

/** The body behind a head, or why there is none. */
const readBody = ({ code, headers }: Head, rest: Buffer, isHead: boolean): ReturnType<typeof chunked> => {
  const length = headers.get("content-length")
  // A request that is not even a HEAD to the server is answered with a body, and is the last.
  const hasNone = isHead && Number(length) !== rest.length
  if (hasNone || code === 204 || code === 304 || code < 200) return { body: Buffer.alloc(0), used: 0 }
  if (headers.get("transfer-encoding") === "chunked") return chunked(rest)
  // Without either the body would last until the connection's end.
  if (length === undefined || !/^\d+$/.test(length)) return { body: rest, used: rest.length }
  return rest.length < Number(length) ? "cut" : { body: rest.subarray(0, Number(length)), used: Number(length) }
}

/** Reads all answers of a connection. `isHead`: the requests were HEAD, so that answers have no bodies. */
export const readAnswers = (bytes: Buffer, isHead = false): Answers => {
  const answers: Array<HttpAnswer> = []
  const end = (rest: Partial<Answers>): Answers => ({
    answers,
    upgraded: undefined,
    isCut: false,
    problem: undefined,
    ...rest
  })
  for (let from = 0; from < bytes.length;) {
    const head = readHead(bytes.subarray(from))
    if (head === "cut") return end({ isCut: true })
    if (typeof head === "string") return end({ problem: `${head} is not HTTP` })
    const rest = bytes.subarray(from + head.size)
    const read = readBody(head, rest, isHead)
    if (read === "cut") return end({ isCut: true })
    if (read === "wrong") return end({ problem: "the chunks of a body are not HTTP" })
    answers.push({ code: head.code, headers: head.headers, body: read.body })
    if (head.code === 101) return end({ upgraded: rest })
    from += head.size + read.used
  }
  return end({})
}

const right: ReadonlySet<number> = new Set([100, 101, 200, 201, 400, 401, 403, 404, 408, 410, 413, 431])

const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString("utf8"))
  } catch {
    return undefined
  }
}

const statusProblem = ({ body, code, headers }: HttpAnswer): string | undefined => {
  const status = parsed(body)
  const said = JSON.stringify(body.toString("utf8").slice(0, 300))
  if (!isObject(status) || status["kind"] !== "Status" || status["apiVersion"] !== "v1")
    return `the body of a ${code} is no Status: ${said}`
  if (status["code"] !== code || status["status"] !== "Failure") return `a ${code} has another Status: ${said}`
  const [message, reason] = [asString(at(status, "message")), asString(at(status, "reason"))]
  if (message === undefined || message === "" || reason === undefined || reason === "")
    return `the Status of a ${code} says nothing: ${said}`
  // eslint-disable-next-line no-control-regex -- These are what must not be there.
  if (/[\u0000-\u001f\u007f]/.test(message)) return `the message of a ${code} has control characters: ${said}`
  if (headers.get("content-type")?.startsWith("application/json") !== true)
    return `a ${code} has the type ${headers.get("content-type") ?? "of nothing"}`
  return undefined
}

/** The flaw of an answer, if it has one. `isHead`: it has no body by rights. */
export const answerProblem = (answer: HttpAnswer, isHead = false): string | undefined => {
  const { body, code } = answer
  const text = body.toString("utf8")
  if (code >= 500) return `${code} blames the operator: ${text.slice(0, 300)}`
  if (!right.has(code)) return `${code} is no code of the operator's API: ${text.slice(0, 300)}`
  return code < 400 || isHead ? undefined : statusProblem(answer)
}

/** The first flaw of all answers of a connection, if they have one. */
export const answersProblem = ({ answers, problem }: Answers, isHead = false): string | undefined =>
  problem ?? answers.map((answer) => answerProblem(answer, isHead)).find((one) => one !== undefined)

/**
 * Bodies in and out: reads JSON and YAML, chooses what the `Accept` header asks for, sends objects, texts and errors.
 * Routes, users and objects belong to `http`; no function here knows a resource.
 */

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { isObject, type JsonObject } from "../../../src/domain/json.ts"
import { type ApiError, badRequest, notAcceptable, tooLarge, unsupportedMediaType } from "./status-error.ts"
import { parseYaml } from "./yaml-text.ts"

/** The limit of etcd, and therefore of a real server, in bytes. */
const bodyLimit = 3 * 1024 * 1024

/** Reads a body of at most 3 MiB. Fails with 413 beyond that. */
export const readBody = async (req: IncomingMessage): Promise<Buffer> => {
  if (Number(req.headers["content-length"] ?? 0) > bodyLimit) throw tooLarge(bodyLimit)
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of req) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > bodyLimit) throw tooLarge(bodyLimit)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

export const mediaType = (req: IncomingMessage): string =>
  (req.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? ""

const bodyTypes = ["application/json", "application/yaml"]

/** Parses a body as JSON or as YAML. Throws 400, whose message begins with `problem`, at bad syntax. */
export const parseText = (text: string, yaml: boolean, problem?: string): unknown => {
  try {
    return yaml ? parseYaml(text) : JSON.parse(text)
  } catch (cause) {
    const message = cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : ""
    throw badRequest(
      `${problem ?? `the object provided is unrecognized (must be of type ${yaml ? "YAML" : "JSON"})`}: ${message}`
    )
  }
}

/** Reads an object in JSON or in YAML. An empty body is `undefined`. */
export const readObject = async (req: IncomingMessage): Promise<JsonObject | undefined> => {
  const body = await readBody(req)
  const type = mediaType(req)
  if (body.length === 0) return undefined
  if (type !== "" && !bodyTypes.includes(type)) throw unsupportedMediaType(type, bodyTypes)
  const value = parseText(body.toString("utf8"), type === "application/yaml")
  if (!isObject(value)) throw badRequest("couldn't get version/kind; json parse error: the body must be an object")
  return value
}

export type Representation = "object" | "table" | "metadata"

/**
 * The form in which the client wants objects: whole, as a Table, or their metadata. Throws 406 if it accepts none of
 * these.
 */
export const negotiate = (accept: string | undefined): Representation => {
  if (accept === undefined || accept.trim() === "") return "object"
  for (const item of accept.split(",")) {
    const [type = "", ...parameters] = item.split(";").map((part) => part.trim())
    const as = parameters.find((parameter) => parameter.startsWith("as="))?.slice(3)
    if (type === "*/*" || type === "application/*") return "object"
    if (type !== "application/json") continue
    if (as === undefined) return "object"
    if (!parameters.includes("g=meta.k8s.io") || !parameters.includes("v=v1")) continue
    if (as === "Table") return "table"
    if (as === "PartialObjectMetadata" || as === "PartialObjectMetadataList") return "metadata"
  }
  throw notAcceptable(["application/json"])
}

export const sendJson = (
  res: ServerResponse,
  code: number,
  body: unknown,
  headers: Record<string, string> = {}
): void => {
  const text = JSON.stringify(body)
  res.writeHead(code, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text), ...headers })
  res.end(text)
}

export const sendText = (res: ServerResponse, code: number, text: string): void => {
  res.writeHead(code, { "Content-Type": "text/plain; charset=utf-8", "Content-Length": Buffer.byteLength(text) })
  res.end(text)
}

export const sendError = (res: ServerResponse, error: ApiError): void => {
  // The rest of a body that is too large stays unread, so the connection cannot carry another request.
  sendJson(res, error.code, error.status, error.code === 413 ? { Connection: "close" } : {})
}

const endUpgrade = (socket: Duplex, code: number, type: string, body: string): void => {
  socket.end(
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}\r\nContent-Type: ${type}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  )
}

/** Answers an upgrade request with a Status instead of 101. */
export const refuseUpgrade = (socket: Duplex, error: ApiError): void =>
  endUpgrade(socket, error.code, "application/json", JSON.stringify(error.status))

/** Answers an upgrade request with a plain text instead of 101. */
export const refuseUpgradeWithText = (socket: Duplex, code: number, text: string): void =>
  endUpgrade(socket, code, "text/plain; charset=utf-8", text)

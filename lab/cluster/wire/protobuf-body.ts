/**
 * Decodes the protobuf bodies that `kubectl` sends into the objects that the same bodies in JSON would be. The shapes
 * of the messages stand in `protobuf-messages.ts`. Answers are never protobuf: nothing here encodes.
 */

import { type JsonObject, asObject, setField } from "../../../src/domain/json.ts"
import { type FieldType, type MessageShape, protobufMessages } from "./protobuf-messages.ts"
import { badRequest, unsupportedMediaType } from "./status-error.ts"

export const protobufType = "application/vnd.kubernetes.protobuf"

/** Every Kubernetes protobuf body begins with these bytes. */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00])

interface WireField {
  readonly number: number
  readonly value: bigint | Buffer
}

const malformed = () => badRequest("the object provided is unrecognized (must be of type Protobuf)")

const readVarint = (bytes: Buffer, start: number): readonly [value: bigint, next: number] => {
  let value = 0n
  for (let offset = start, shift = 0n; offset < bytes.length && shift < 70n; offset++, shift += 7n) {
    const byte = bytes[offset] ?? 0
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return [value, offset + 1]
  }
  throw malformed()
}

const fixedLength: Record<number, number> = { 1: 8, 5: 4 }

const readFields = (bytes: Buffer): ReadonlyArray<WireField> => {
  const fields: Array<WireField> = []
  let offset = 0
  while (offset < bytes.length) {
    const [tag, afterTag] = readVarint(bytes, offset)
    const wireType = Number(tag & 7n)
    const number = Number(tag >> 3n)
    if (wireType === 0) {
      const [value, next] = readVarint(bytes, afterTag)
      fields.push({ number, value })
      offset = next
      continue
    }
    const [length, start] =
      wireType === 2 ? readVarint(bytes, afterTag) : [BigInt(fixedLength[wireType] ?? -1), afterTag]
    const end = start + Number(length)
    if (length < 0n || end > bytes.length) throw malformed()
    fields.push({ number, value: bytes.subarray(start, end) })
    offset = end
  }
  return fields
}

const bytesOf = (value: bigint | Buffer): Buffer => {
  if (typeof value === "bigint") throw malformed()
  return value
}

const numberOf = (value: bigint | Buffer): bigint => {
  if (typeof value !== "bigint") throw malformed()
  return value
}

const decodeValue = (type: FieldType, value: bigint | Buffer): unknown => {
  if (type === "string") return bytesOf(value).toString("utf8")
  if (type === "bytes") return bytesOf(value).toString("base64")
  if (type === "int") return Number(BigInt.asIntN(64, numberOf(value)))
  if (type === "bool") return numberOf(value) !== 0n
  if (type === "time") {
    const seconds = readFields(bytesOf(value)).find((item) => item.number === 1)?.value
    return seconds === undefined ? null : new Date(Number(numberOf(seconds)) * 1000).toISOString()
  }
  if ("message" in type) return decodeMessage(protobufMessages[type.message] ?? {}, bytesOf(value))
  const entry = readFields(bytesOf(value))
  const [key, content] = [1, 2].map((number) => entry.find((item) => item.number === number)?.value ?? Buffer.alloc(0))
  return [decodeValue("string", key ?? Buffer.alloc(0)), decodeValue(type.map, content ?? Buffer.alloc(0))]
}

const decodeMessage = (shape: MessageShape, bytes: Buffer): JsonObject => {
  const result: JsonObject = {}
  for (const { number, value } of readFields(bytes)) {
    const field = shape[number]
    if (field === undefined) continue
    const decoded = decodeValue(field.type, value)
    if (typeof field.type === "object" && "map" in field.type) {
      const map = asObject(result[field.name])
      if (Array.isArray(decoded)) setField(map, String(decoded[0]), decoded[1])
      result[field.name] = map
    } else if (field.repeated === true)
      result[field.name] = [
        ...(Array.isArray(result[field.name]) ? (result[field.name] as Array<unknown>) : []),
        decoded
      ]
    // Go's encoder writes empty strings where JSON leaves the field out.
    else if (decoded !== "" && decoded !== null) result[field.name] = decoded
  }
  return result
}

/** Throws 415 for kinds whose shape `protobuf-messages.ts` does not have. */
export const decodeProtobuf = (body: Buffer): JsonObject => {
  if (!body.subarray(0, magic.length).equals(magic)) throw malformed()
  const envelope = readFields(body.subarray(magic.length))
  const find = (fields: ReadonlyArray<WireField>, number: number): Buffer =>
    bytesOf(fields.find((item) => item.number === number)?.value ?? Buffer.alloc(0))
  const typeMeta = readFields(find(envelope, 1))
  const [apiVersion, kind] = [find(typeMeta, 1).toString("utf8"), find(typeMeta, 2).toString("utf8")]
  const shape = Object.hasOwn(protobufMessages, kind) ? protobufMessages[kind] : undefined
  if (shape === undefined)
    throw unsupportedMediaType(`${protobufType}, kind ${kind}`, ["application/json", "application/yaml"])
  return { apiVersion, kind, ...decodeMessage(shape, find(envelope, 2)) }
}

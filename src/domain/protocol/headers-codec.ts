/**
 * HTTP header maps on the wire (`http-serde`): each name once, with all its values.
 *
 * Not here: other maps, which are plain (codec.ts).
 */

import { quoted } from "../clean-text.ts"
import type { Reader } from "./reader.ts"
import type { Headers } from "./shape.ts"
import { headerName, isHeaderValue } from "./text-rules.ts"
import type { Writer } from "./writer.ts"

export const readHeaders = (reader: Reader): Headers => {
  const byName = new Map<string, Array<Uint8Array>>()
  for (let names = reader.count(); names > 0; names--) {
    const at = reader.offset
    const raw = reader.text()
    const name = headerName(raw) ?? reader.fail(`${quoted(raw)} is not a header name`, at)
    const count = reader.count()
    const values: Array<Uint8Array> = []
    for (let i = 0; i < count; i++) {
      const start = reader.offset
      const value = reader.byteString()
      if (!isHeaderValue(value)) reader.fail(`the value of header ${name} has a control character`, start)
      values.push(value)
    }
    // A repeated name with one value replaces what was there, with several it adds: upstream inserts and appends
    // (http-serde).
    const before = byName.get(name)
    if (count === 1 || (count > 0 && before === undefined)) byName.set(name, values)
    else for (const value of values) before?.push(value)
  }
  return [...byName].flatMap(([name, values]) => values.map((value) => [name, value] as const))
}

export const writeHeaders = (writer: Writer, value: Headers): void => {
  const byName = new Map<string, Array<Uint8Array>>()
  for (const [raw, bytes] of value) {
    const name = headerName(raw)
    if (name === undefined) throw new RangeError(`${quoted(raw)} is not a header name`)
    if (!isHeaderValue(bytes)) throw new RangeError(`the value of header ${name} has a control character`)
    const values = byName.get(name)
    if (values === undefined) byName.set(name, [bytes])
    else values.push(bytes)
  }
  writer.varint(byName.size)
  for (const [name, values] of byName) {
    writer.text(name)
    writer.varint(values.length)
    for (const bytes of values) writer.byteString(bytes)
  }
}

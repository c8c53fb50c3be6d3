import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import {
  type CellMessage,
  maxControlLine,
  type OutpostMessage,
  readCellLine,
  readOutpostLine,
  writeLine
} from "../../../src/domain/outbound/control-message.ts"

const greeting = { protocol: 1, version: "0.3.0", capabilities: ["renewal"], clock: 1_767_225_600_000 }
const held = { epoch: "0b9e-1", number: 3, hash: "0f".repeat(32) }
const heldText = `"epoch":"0b9e-1","number":3,"hash":"${held.hash}"`
const heldAndBound = `"holds":{${heldText}},"binding":"${"ab".repeat(32)}"`
const hello = { _tag: "Hello", ...greeting, holds: held, binding: "ab".repeat(32) } as const

/** The lines of protocol 1. A released line stays as it is: others are added. */
const outpostLines: ReadonlyArray<readonly [string, OutpostMessage]> = [
  [
    '{"type":"hello","protocol":1,"version":"0.3.0","capabilities":["renewal"],"clock":1767225600000,' +
      `"kubernetes":"v1.36.3",${heldAndBound}}`,
    { ...hello, kubernetes: "v1.36.3" }
  ],
  [
    '{"type":"hello","protocol":1,"version":"0.3.0","capabilities":["renewal"],"clock":1767225600000,' +
      `${heldAndBound}}`,
    hello
  ],
  [`{"type":"holds",${heldText}}`, { _tag: "Holds", ...held }],
  [`{"type":"behind",${heldText}}`, { _tag: "Behind", ...held }],
  ['{"type":"beat","number":7}', { _tag: "Beat", number: 7 }],
  ['{"type":"renew","id":"r-1","request":"-----BEGIN"}', { _tag: "Renew", id: "r-1", request: "-----BEGIN" }]
]
const cellLines: ReadonlyArray<readonly [string, CellMessage]> = [
  [
    '{"type":"welcome","protocol":1,"version":"0.3.0","capabilities":["renewal"],"clock":1767225600000,"number":4}',
    { _tag: "Welcome", ...greeting, number: 4 }
  ],
  ['{"type":"answer","number":7}', { _tag: "Answer", number: 7 }],
  ['{"type":"certificate","id":"r-1","certificate":"A"}', { _tag: "Certificate", id: "r-1", certificate: "A" }],
  [
    '{"type":"authorities","epoch":"0b9e-1","number":3,"authorities":"B"}',
    { _tag: "Authorities", epoch: "0b9e-1", number: 3, authorities: "B" }
  ],
  ['{"type":"refused","why":"no"}', { _tag: "Refused", why: "no" }],
  ['{"type":"refused","why":"no","id":"r-1"}', { _tag: "Refused", why: "no", id: "r-1" }]
]

describe("control messages", () => {
  it.each([...outpostLines, ...cellLines])("%s is a line of protocol 1", (line, message) => {
    expect(writeLine(message)).toBe(line)
    const isOutposts = outpostLines.some(([other]) => other === line)
    const [read, other] = isOutposts ? [readOutpostLine, readCellLine] : [readCellLine, readOutpostLine]
    expect(read(line)).toEqual(Result.succeed(message))
    expect(other(line)).toEqual(Result.succeed(undefined))
  })

  it("are read without what a newer side adds, whatever it calls itself", () => {
    const [line] = outpostLines[0] ?? [""]
    const newer = line.replace('"protocol":1', '"protocol":9,"_tag":"Beat","more":{"deep":[1]}')
    expect(readOutpostLine(newer)).toEqual(Result.succeed({ ...hello, protocol: 9, kubernetes: "v1.36.3" }))
    for (const type of ["drain", "Hello", "__proto__", "constructor"])
      expect(readOutpostLine(JSON.stringify({ type }))).toEqual(Result.succeed(undefined))
  })

  it("hold clean and short texts, whichever side is careless", () => {
    const careless = `1\u001b[31m${"x".repeat(300)}`
    const clean = `1\u{fffd}[31m${"x".repeat(246)}…`
    const read = readOutpostLine(JSON.stringify({ ...hello, type: "hello", version: careless, kubernetes: "a\nb" }))
    expect(read).toEqual(Result.succeed({ ...hello, version: clean, kubernetes: "a b" }))
    expect(writeLine({ ...hello, version: careless })).toContain(JSON.stringify(clean))
    expect(writeLine({ _tag: "Refused", why: "y".repeat(2_000) })).toContain(`"${"y".repeat(1_023)}…"`)
    expect(writeLine({ ...hello, capabilities: [careless] })).toContain(JSON.stringify([clean]))
  })

  it.each<readonly [string, unknown, RegExp]>([
    ["no JSON", '{"type":"beat"', /^a line of the control lane is no JSON object with a type: .*; look whether/],
    ["GET / HTTP/1.1", "GET / HTTP/1.1", /no JSON object with a type: "GET \/ HTTP\/1.1"/],
    ["no object", "[]", /no JSON object with a type/],
    ["no type", { number: 1 }, /no JSON object with a type/],
    ["a type that is no text", { type: 1 }, /no JSON object with a type/],
    ["no number", { type: "beat" }, /^the message beat of the control lane is wrong: number: /],
    ["a negative number", { type: "beat", number: -1 }, /number: /],
    ["half of a number", { type: "beat", number: 0.5 }, /number: /],
    ["protocol 0", { type: "hello", ...greeting, protocol: 0 }, /protocol: /],
    [
      "many capabilities",
      { type: "hello", ...greeting, capabilities: Array.from({ length: 257 }, () => "a") },
      /capab/
    ],
    ["two faults", { type: "renew", id: "a b", request: 1 }, /id: .*; request: .*; look whether/],
    ["no authorities", { type: "hello", ...greeting }, /holds: /],
    ["no binding", { ...hello, type: "hello", binding: "" }, /binding: /],
    ["another hash", { type: "holds", ...held, hash: "0f" }, /hash: /],
    ["a long id", { type: "renew", id: "a".repeat(65), request: "" }, /id: /],
    ["a long request", { type: "renew", id: "a", request: "x".repeat(8_193) }, /request: /]
  ])("with %s end the tunnel", (_, given, sentence) => {
    const line = typeof given === "string" ? given : JSON.stringify(given)
    const failure = Result.getOrThrow(Result.flip(readOutpostLine(line)))
    expect(failure).toMatch(sentence)
    expect(failure.length).toBeLessThanOrEqual(1_024)
  })

  it("have bounds for each certificate, and one for the whole line", () => {
    const line = (certificate: number, rest = 0) =>
      JSON.stringify({ type: "certificate", id: "a", certificate: "x".repeat(certificate), rest: "z".repeat(rest) })
    const command = (authorities: number) =>
      JSON.stringify({ type: "authorities", epoch: "a", number: 1, authorities: "y".repeat(authorities) })
    expect([line(65_536), command(262_144)].map((text) => Result.isSuccess(readCellLine(text)))).toEqual([true, true])
    expect(readCellLine(line(65_537))).toMatchObject({ failure: expect.stringContaining("certificate: ") })
    expect(readCellLine(command(262_145))).toMatchObject({ failure: expect.stringContaining("authorities: ") })
    expect(readCellLine(line(1, maxControlLine))).toMatchObject({ failure: expect.stringContaining("1048576") })
  })
})

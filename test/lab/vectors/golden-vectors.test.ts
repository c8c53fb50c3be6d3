/** The codec against the golden vectors of the reference implementation, and the check itself against wrong vectors. */

import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { checkVectors } from "../../../lab/vectors/golden-vectors.ts"

const load = (name: string): string => readFileSync(new URL(`../../vectors/${name}`, import.meta.url), "utf8")

describe("golden vectors of the reference implementation", () => {
  it.each([
    ["protocol.jsonl", 516],
    ["invalid.jsonl", 40]
  ])("%s: %i vectors", (name, count) => {
    const results = checkVectors(load(name))
    expect(results.filter(({ failure }) => failure !== undefined)).toEqual([])
    expect(results).toHaveLength(count)
  })
})

describe("the check finds", () => {
  const failure = (line: unknown): string | undefined => {
    const results = checkVectors(typeof line === "string" ? line : JSON.stringify(line))
    expect(results).toHaveLength(1)
    return results[0]?.failure
  }
  const ping = { dir: "client", hex: "07", value: { $: "Ping" } }

  it("nothing in a good line", () => {
    expect(failure(ping)).toBeUndefined()
    expect(failure({ ...ping, hex: "fb0700", canonical: "07" })).toBeUndefined()
    expect(failure({ ...ping, hex: "07ff", used: 1 })).toBeUndefined()
    expect(
      failure({
        dir: "client",
        hex: "0600020161016200",
        unordered: true,
        used: 7,
        value: { $: "GetEnvVarsRequest", "0": { env_vars_select: ["a", "b"], env_vars_filter: [] } }
      })
    ).toBeUndefined()
    expect(failure({ dir: "client", hex: "06", why: "incomplete" })).toBeUndefined()
  })

  const wrong: ReadonlyArray<readonly [string, unknown, string]> = [
    ["another value", { ...ping, value: { $: "Close" } }, 'value.$: expected "Close", found "Ping"'],
    ["a value of another type", { ...ping, value: null }, "value: expected null, found"],
    ["a missing part of a value", { ...ping, value: { $: "Ping", "0": 1 } }, "value.0: expected 1, found nothing"],
    ["another encoding", { ...ping, hex: "fb0700" }, 'encoding: from byte 0 expected "fb0700", found "07"'],
    ["another canonical form", { ...ping, canonical: "08" }, "encoding"],
    [
      "bytes left over",
      { ...ping, hex: "07ff" },
      "decoding: expected 2 bytes to be used, found 1; skipping: expected the end at byte 2, found byte 1"
    ],
    [
      "bytes that are none",
      { ...ping, hex: "12" },
      "decoding: expected a message, found invalid: ClientMessage.18 at byte 0"
    ],
    ["too few bytes", { ...ping, hex: "01" }, "decoding: expected a message, found incomplete"],
    ["an unordered value that differs", { ...ping, unordered: true, value: { $: "Pong" } }, "value.$"],
    [
      "an accepted line that should not be",
      { dir: "client", hex: "07", why: "invalid" },
      "expected invalid, found a message of 1 bytes"
    ],
    [
      "an error instead of an end",
      { dir: "client", hex: "12", why: "incomplete" },
      "expected incomplete, found invalid"
    ]
  ]
  it.each(wrong)("%s", (_, line, expected) => expect(failure(line)).toContain(expected))

  const malformed: ReadonlyArray<readonly [string, unknown, string]> = [
    ["no JSON", "{", "not JSON: "],
    ["no object", "[]", "a JSON object is needed, found []"],
    ["an unknown field", { ...ping, vlaue: 1 }, 'unknown field "vlaue"; known: '],
    ["a misplaced field", { dir: "client", hex: "", why: "incomplete", used: 0 }, '"used" does not go with "why"'],
    ["no expectation", { dir: "client", hex: "07" }, 'either "value" or "why" is needed'],
    ["two expectations", { ...ping, why: "invalid" }, '"value" and "why" exclude each other'],
    ["no direction", { hex: "07", value: null }, '"dir" must be "client" or "daemon", found nothing'],
    ["odd digits", { ...ping, hex: "070" }, '"hex" must be an even number of hexadecimal digits, found "070"'],
    ["a bad canonical", { ...ping, canonical: "0x" }, '"canonical" must be an even number'],
    ["used beyond the bytes", { ...ping, used: 2 }, '"used" must be a number of bytes from 0 to 1, found 2'],
    ["unordered that is no boolean", { ...ping, unordered: "yes" }, '"unordered" must be true or false, found "yes"'],
    [
      "an unknown why",
      { dir: "client", hex: "07", why: "odd" },
      '"why" must be "incomplete" or "invalid", found "odd"'
    ],
    ["an id that is no text", { ...ping, id: 7 }, '"id" must be a text, found 7']
  ]
  it.each(malformed)("%s", (_, line, expected) => expect(failure(line)).toContain(expected))

  it("lines by their number, empty ones counted but not checked", () => {
    const results = checkVectors(`${JSON.stringify(ping)}\r\n\n${JSON.stringify({ ...ping, hex: "00" })}\n`)
    expect(results.map(({ line }) => line)).toEqual([1, 3])
    expect(results[1]?.failure).toContain("expected")
  })
})

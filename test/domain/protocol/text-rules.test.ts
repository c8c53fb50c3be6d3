import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { codec } from "../../../src/domain/protocol/codec.ts"
import { headers, type Headers } from "../../../src/domain/protocol/shape.ts"
import { checkText, headerName, isHeaderValue } from "../../../src/domain/protocol/text-rules.ts"
import { skip } from "../../../src/domain/protocol/walker.ts"

const latin1 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "latin1"))

describe("URIs", () => {
  const accepted: ReadonlyArray<readonly [string, string]> = [
    ["/", "/"],
    ["*", "*"],
    ["/p?q=1&r", "/p?q=1&r"],
    ["/p#fragment", "/p"],
    ["/p?q#fragment", "/p?q"],
    ["/ä?ö", "/ä?ö"],
    ["http://h", "http://h/"],
    ["HTTP://Host.Example/x", "http://Host.Example/x"],
    ["https://h?q", "https://h/?q"],
    ["https://h#f", "https://h/"],
    ["Custom://h/x", "Custom://h/x"],
    ["http://user:pw@h:8080/x", "http://user:pw@h:8080/x"],
    ["http://[::1]:80/", "http://[::1]:80/"],
    ["example.com:443", "example.com:443"],
    ["localhost", "localhost"]
  ]
  it.each(accepted)("%s is written as %s", (uri, canonical) => {
    expect(checkText("uri", uri)).toEqual(Result.succeed(canonical))
    expect(checkText("uri", canonical)).toEqual(Result.succeed(canonical))
  })

  it.each([
    "",
    "/a b",
    "/a\n",
    "a/b",
    "http://",
    "http:///x",
    "http://h:80:90/",
    "http://a b/",
    "http://[::1/",
    "http://]h[/",
    "http://[[::1]/",
    "http://a%b[::1]/",
    "http://h%20/",
    "http://1:2:3:4:5:6:7:8:9:a@h/",
    "http://u@/",
    `/${"x".repeat(65_534)}`
  ])("%j is none", (uri) => expect(Result.isFailure(checkText("uri", uri))).toBe(true))
})

describe("methods, versions", () => {
  it.each(["GET", "get", "PROPFIND", "X-A_b.~"])("method %s", (text) =>
    expect(checkText("method", text)).toEqual(Result.succeed(text))
  )
  it.each(["", "GE T", "GET\n", "É", "A/B"])("%j is no method", (text) =>
    expect(Result.isFailure(checkText("method", text))).toBe(true)
  )
  it.each(["HTTP/0.9", "HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "HTTP/3.0"])("%s", (text) =>
    expect(checkText("httpVersion", text)).toEqual(Result.succeed(text))
  )
  it.each(["HTTP/2", "http/1.1", "HTTP/1.2", ""])("%j is no HTTP version", (text) =>
    expect(Result.isFailure(checkText("httpVersion", text))).toBe(true)
  )
  it.each(["1.29.0", "0.0.0", "1.2.3-rc.1", "1.2.3-0a", "3.250.0+braid.0.1.0", "1.2.3--", "18446744073709551615.0.0"])(
    "version %s",
    (text) => expect(checkText("semver", text)).toEqual(Result.succeed(text))
  )
  it.each([
    "",
    "1",
    "1.2",
    "1.2.3.4",
    "01.2.3",
    "1.2.3-",
    "1.2.3-01",
    "1.2.3+",
    "v1.2.3",
    " 1.2.3",
    "1.2.x",
    "18446744073709551616.0.0"
  ])("%j is no version", (text) => expect(Result.isFailure(checkText("semver", text))).toBe(true))
})

describe("header maps (wire.md §2.5)", () => {
  const made = codec("Headers", headers)
  const entry = (name: string, ...values: ReadonlyArray<string>): ReadonlyArray<number> => [
    name.length,
    ...latin1(name),
    values.length,
    ...values.flatMap((value) => [value.length, ...latin1(value)])
  ]
  const wire = (...entries: ReadonlyArray<ReadonlyArray<number>>): Uint8Array =>
    Uint8Array.from([entries.length, ...entries.flat()])
  const decode = (bytes: Uint8Array): ReadonlyArray<string> => {
    const decoded = made.decode(bytes)
    if (decoded._tag !== "Decoded") throw new Error(JSON.stringify(decoded))
    expect(decoded.used).toBe(bytes.length)
    expect(skip("Headers", headers, bytes)).toEqual({ _tag: "End", offset: bytes.length })
    return decoded.value.map(([name, value]) => `${name}: ${Buffer.from(value).toString("latin1")}`)
  }

  it("a name that comes twice with one value each keeps the last value and the first place", () =>
    expect(decode(wire(entry("a", "1"), entry("b", "2"), entry("a", "3")))).toEqual(["a: 3", "b: 2"]))
  it("a name that comes again with several values adds them", () => {
    expect(decode(wire(entry("a", "1"), entry("b", "2"), entry("a", "3", "4")))).toEqual([
      "a: 1",
      "a: 3",
      "a: 4",
      "b: 2"
    ])
  })
  it("names that differ in case are the same, and become lower case", () =>
    expect(decode(wire(entry("X-Y", "1"), entry("x-y", "2")))).toEqual(["x-y: 2"]))
  it("a name without values is dropped, and takes no earlier value with it", () => {
    expect(decode(wire(entry("a"), entry("b", "2")))).toEqual(["b: 2"])
    expect(decode(wire(entry("b", "2"), entry("b")))).toEqual(["b: 2"])
  })
  it("values may hold tabs and bytes beyond ASCII", () =>
    expect(decode(wire(entry("a", "\t\xff")))).toEqual(["a: \t\xff"]))
  it.each(["", "a b", "a:", "é", "a\0"])("%j is no name", (name) => {
    expect(headerName(name)).toBeUndefined()
    expect(made.decode(wire(entry(name, "1")))).toMatchObject({ _tag: "Invalid", error: { _tag: "InvalidValue" } })
  })
  it.each(["\n", "\r", "\0", "\x7f", "a\x1fb"])("%j is no value", (value) => {
    expect(isHeaderValue(latin1(value))).toBe(false)
    expect(made.decode(wire(entry("a", value)))).toMatchObject({
      _tag: "Invalid",
      error: { offset: 4, message: expect.stringContaining("header a") }
    })
  })
  it("written names are grouped and lower case, so that no value is lost", () => {
    const flat: Headers = [
      ["Set-Cookie", latin1("x")],
      ["host", latin1("h")],
      ["set-cookie", latin1("y")]
    ]
    expect(decode(made.encode(flat))).toEqual(["set-cookie: x", "set-cookie: y", "host: h"])
  })
})

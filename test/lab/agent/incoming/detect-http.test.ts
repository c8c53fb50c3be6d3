/** First bytes of connections, and the protocol that they are taken for. */

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { detectHttp } from "../../../../lab/agent/incoming/detect-http.ts"

const detect = (text: string) => detectHttp(Uint8Array.from(text, (char) => char.charCodeAt(0)))

describe("detectHttp", () => {
  it.each([
    ["", "more"],
    ["GET", "more"],
    ["GET /path", "more"],
    ["GET / HTTP/1.", "more"],
    ["\r\n", "more"],
    ["\r\nGET / HTTP/1.1\r\n", "http"],
    ["GET / HTTP/1.1\r\n", "http"],
    ["PROPFIND /x HTTP/1.0\n", "http"],
    ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0", "other"],
    ["PRI * HTTP/", "more"],
    ["GET / HTTP/2.0\r\n", "other"],
    ["GET /\r\n", "other"],
    ["GET / SPDY", "other"],
    ["\x16\x03\x01", "other"],
    ["SSH-2.0-OpenSSH_9\r\n", "other"],
    ["EHLO mail.example.com\r\n", "other"],
    ["x".repeat(40), "other"],
    ["*1\r\n$4\r\nPING\r\n", "other"]
  ])("%j is %s", (text, expected) => expect(detect(text)).toBe(expected))

  it("never says `other` about the beginning of a request", () => {
    fc.assert(
      fc.property(fc.webPath(), fc.nat(60), (path, length) => {
        const line = `GET ${path === "" ? "/" : path} HTTP/1.1\r\n`
        expect(detect(line.slice(0, length))).toBe(length >= line.length ? "http" : detect(line.slice(0, length)))
        if (length < line.length) expect(detect(line.slice(0, length))).toBe("more")
      })
    )
  })
})

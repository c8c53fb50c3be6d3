import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { passedBack, passedOn } from "../../../src/domain/outbound/passed-headers.ts"

/** The same name in another case, letter by letter. */
const anyCase = (name: string): fc.Arbitrary<string> =>
  fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((upper) => [...name].map((letter, at) => (upper[at] === true ? letter.toUpperCase() : letter)).join(""))

describe("headers of a request that comes on a lane", () => {
  it.each([
    ..."impersonate-user impersonate-group impersonate-uid impersonate-extra-scopes impersonate-".split(" "),
    ..."x-remote-user x-remote-group x-remote-uid x-remote-extra-a authorization".split(" "),
    ..."proxy-authorization proxy-connection proxy-authenticate host expect braid-user braid-".split(" "),
    ..."connection keep-alive te trailer transfer-encoding upgrade".split(" ")
  ])("never hold %s, in no case, however often", (name) =>
    fc.assert(
      fc.property(fc.array(anyCase(name), { minLength: 1, maxLength: 3 }), (names) => {
        const raw = ["Accept", "a", ...names.flatMap((one) => [one, "mine"]), "Accept", "b"]
        expect(passedOn(raw)).toEqual(["Accept", "a", "Accept", "b"])
      }),
      { numRuns: 10 }
    )
  )

  it("pass otherwise, as they were written, in their order", () => {
    const raw = [
      ...["User-Agent", "braid/1.2.3", "ACCEPT", "application/json;as=Table", "accept", "*/*"],
      ...["Content-Type", "x", "Content-Length", "5", "X-Stream-Protocol-Version", "v5.channel.k8s.io"],
      ...["Sec-WebSocket-Key", "k", "x-session-id", "1", "authorization-hint", "1", "ximpersonate-user", "1"]
    ]
    expect(passedOn(raw)).toEqual(raw)
  })

  it("do not hold what the header Connection names, in any form", () => {
    const raw = ["A", "1", "b", "2", "Connection", "Keep-Alive, B ,", "connection", "c", "C", "3", "d", "4"]
    expect(passedOn(raw)).toEqual(["A", "1", "d", "4"])
    expect(passedBack(raw)).toEqual(["A", "1", "d", "4"])
  })

  it("pass back as the API server wrote them, but for those of its connection", () => {
    const raw = ["Audit-Id", "a", "Warning", "1", "warning", "2", "Www-Authenticate", "x", "Trailer", "T"]
    expect(passedBack([...raw, "Transfer-Encoding", "chunked", "Keep-Alive", "timeout=5"])).toEqual(raw)
  })
})

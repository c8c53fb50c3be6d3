import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { admitRequest, type UiRequest } from "../../../../src/domain/commands/ui/admit-request.ts"

const port = 4711
const host = `127.0.0.1:${port}`
const request = (more: Partial<UiRequest> = {}): UiRequest => ({
  method: "GET",
  path: "/",
  host,
  origin: undefined,
  hasToken: false,
  hasCookie: true,
  ...more
})
const judged = (more: Partial<UiRequest>): unknown => {
  const admission = admitRequest(request(more), port)
  return admission._tag === "Refused" ? admission.status : admission._tag
}

describe("a request to the page", () => {
  it.each<[string, Partial<UiRequest>, unknown]>([
    ["of a browser with the cookie", {}, "Admitted"],
    ["by the machine's other name", { host: `localhost:${port}` }, "Admitted"],
    ["without the cookie", { hasCookie: false }, 401],
    ["with the token but at another path", { hasCookie: false, hasToken: true }, 401],
    ["by the link", { path: "/auth", hasCookie: false, hasToken: true }, "LogIn"],
    ["by a wrong link, even with the cookie", { path: "/auth" }, 401],
    ["by a link that is posted", { path: "/auth", method: "POST", hasCookie: false, hasToken: true }, 401],
    ["under a foreign name", { host: `evil.example:${port}` }, 403],
    ["at another port's name", { host: "127.0.0.1:80" }, 403],
    ["without a name", { host: undefined }, 403],
    ["that changes something, of the page itself", { method: "POST", origin: `http://${host}` }, "Admitted"],
    ["that changes something, of another page", { method: "POST", origin: "http://localhost:3000" }, 403],
    ["that changes something, of an unnamed page", { method: "DELETE", origin: undefined }, 403],
    ["that changes something, of a page that looks alike", { method: "POST", origin: `http://${host}.example` }, 403]
  ])("%s", (_, more, expected) => {
    expect(judged(more)).toBe(expected)
  })

  it("is never admitted without cookie, name and, if it changes something, the page's own origin", () => {
    const text = fc.option(fc.oneof(fc.constant(host), fc.constant(`http://${host}`), fc.string()), { nil: undefined })
    fc.assert(
      fc.property(
        fc.record({
          method: fc.constantFrom("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"),
          path: fc.constantFrom("/", "/auth", "/api/fleet"),
          host: text,
          origin: text,
          hasToken: fc.boolean(),
          hasCookie: fc.boolean()
        }),
        (any) => {
          if (admitRequest(any, port)._tag !== "Admitted") return
          expect([any.hasCookie, any.host]).toEqual([true, host])
          if (!["GET", "HEAD"].includes(any.method)) expect(any.origin).toBe(`http://${host}`)
        }
      )
    )
  })
})

import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  admitApiRequest,
  type ApiRequest,
  redirectTarget
} from "../../../../src/domain/commands/ui/admit-api-request.ts"

const port = 59_281
const host = `127.0.0.1:${port}`
const extension = "chrome-extension://abcdef"
const request = (more: Partial<ApiRequest> = {}): ApiRequest => ({
  method: "GET",
  path: "/api/sessions",
  isUpgrade: false,
  host,
  origin: undefined,
  hasToken: false,
  hasCookie: false,
  hasHeader: false,
  ...more
})
const judged = (more: Partial<ApiRequest>): unknown => {
  const admission = admitApiRequest(request(more), port)
  if (admission._tag === "Admitted") return admission.setsCookie ? "gets the cookie" : "Admitted"
  return admission._tag === "Refused" ? admission.status : admission._tag
}
const cookie = { hasCookie: true }
const header = { hasHeader: true }
const post = { method: "POST" }
const upgrade = { isUpgrade: true, path: "/ws" }

describe("a request to the API", () => {
  it.each<[string, Partial<ApiRequest>, unknown]>([
    ["without token", {}, 401],
    ["with the token in the query", { hasToken: true }, 401],
    ["with the cookie", cookie, "Admitted"],
    ["with the header", header, "gets the cookie"],
    ["with the token at the place for it", { path: "/auth", hasToken: true }, "LogIn"],
    ["with a wrong token there, even with the cookie", { ...cookie, path: "/auth" }, 401],
    ["for health alone", { path: "/health" }, "Admitted"],
    ["for health, to change it", { ...post, path: "/health" }, 401],
    ["under a foreign name", { ...cookie, host: `evil.example:${port}` }, 403],
    ["for health, under a foreign name", { path: "/health", host: "evil.example" }, 403],
    ["that changes something, of the own page", { ...post, ...cookie, origin: `http://${host}` }, "Admitted"],
    ["that changes something, of a page of another port", { ...post, ...cookie, origin: "http://127.0.0.1:1" }, 403],
    ["that changes something, with the cookie and no page", { ...post, ...cookie }, 403],
    ["that changes something, of a program with the header", { ...post, ...header }, "gets the cookie"],
    ["that changes something, of the extension", { ...post, ...header, origin: extension }, "gets the cookie"],
    ["that changes something, of an extension without the header", { ...post, ...cookie, origin: extension }, 403],
    ["that changes something, of a site with the header", { ...post, ...header, origin: "https://evil.example" }, 403],
    ["that listens, without token", upgrade, 401],
    ["that listens, of a program", { ...upgrade, ...header }, "gets the cookie"],
    ["that listens, of the own page", { ...upgrade, ...cookie, origin: `http://${host}` }, "Admitted"],
    ["that listens, of a page of another port", { ...upgrade, ...cookie, origin: "http://127.0.0.1:1" }, 403],
    [
      "that listens, of a site whose name begins alike",
      { ...upgrade, ...cookie, origin: `http://${host}.example` },
      403
    ]
  ])("%s", (_, more, expected) => {
    expect(judged(more)).toBe(expected)
  })

  it("is never admitted without the token but for health, nor under another name", () => {
    const text = fc.option(fc.oneof(fc.constant(host), fc.constant(`http://${host}`), fc.string()), { nil: undefined })
    fc.assert(
      fc.property(
        fc.record({
          method: fc.constantFrom("GET", "HEAD", "POST", "PUT", "DELETE"),
          path: fc.constantFrom("/", "/auth", "/health", "/ws", "/api/sessions"),
          isUpgrade: fc.boolean(),
          host: text,
          origin: text,
          hasToken: fc.boolean(),
          hasCookie: fc.boolean(),
          hasHeader: fc.boolean()
        }),
        (any) => {
          if (admitApiRequest(any, port)._tag !== "Admitted") return
          expect(any.host).toBe(host)
          expect(any.hasCookie || any.hasHeader || any.path === "/health").toBe(true)
        }
      )
    )
  })

  it.each<[string | null, string]>([
    ["/wizard", "/wizard"],
    ["/", "/"],
    [null, "/"],
    ["//evil.example", "/"],
    ["/\\evil.example", "/"],
    ["https://evil.example", "/"],
    ["/x\r\nset-cookie: y", "/"]
  ])("leads to a path of this server alone: %j", (wanted, expected) => {
    expect(redirectTarget(wanted)).toBe(expected)
  })
})

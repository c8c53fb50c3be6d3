import { request as ask } from "node:http"
import { Clock, Effect, Redacted, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { openIdProvider } from "../../../src/adapters/oidc/openid-provider.ts"
import { makeSeal } from "../../../src/adapters/oidc/seal.ts"
import { dashboardPage } from "../../../src/app/commands/operator-dashboard.ts"
import { serveDashboard } from "../../../src/app/dashboard/serve-dashboard.ts"
import type { DashboardRules } from "../../../src/domain/usage/dashboard-access.ts"
import { it } from "../../support/effect-it.ts"
import { makeFakeOpenId } from "../../support/fake-openid.ts"
import { idleFacade } from "../../support/idle-facade.ts"
import { turns } from "../../support/turns.ts"
import { until } from "../../support/until.ts"

const [issuer, served, secret] = ["https://login.example.com", "mirrord.example.com", "a secret of the page"]
const rules: DashboardRules = { groups: ["dev"], emails: [], groupsClaim: "groups" }

interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
  /** Name, value and attributes of each cookie that is set. */
  readonly cookies: ReadonlyArray<string>
}

const somePage = HttpRouter.toHttpEffect(
  HttpRouter.addAll([
    HttpRouter.route("GET", "/", HttpServerResponse.text("the page")),
    HttpRouter.route("GET", "/api/usage", HttpServerResponse.text("the report")),
    HttpRouter.route("GET", "/broken", Effect.die("a defect"))
  ])
)

/** A server with a browser: it keeps cookies, and follows nothing. */
const serving = Effect.fnUntraced(function* (
  more: Partial<DashboardRules> = {},
  jar = new Map<string, string>(),
  making: typeof somePage = somePage
) {
  const fake = yield* Effect.promise(() => makeFakeOpenId({ issuer, clientId: "braid", clientSecret: secret }))
  const page = yield* making
  const { port } = yield* serveDashboard({
    listenAt: { host: "127.0.0.1", port: 0 },
    fallback: undefined,
    served,
    rules: { ...rules, ...more },
    seal: makeSeal(Redacted.make(secret)),
    provider: openIdProvider({
      issuer,
      clientId: "braid",
      clientSecret: Redacted.make(secret),
      scopes: ["openid"],
      redirectUri: `https://${served}/callback`,
      claims: [],
      fetch: fake.fetch
    }),
    page
  })
  const get = (path: string, given: { readonly host?: string; readonly method?: string } = {}) =>
    Effect.callback<Answer>((resume) => {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ")
      const { host = served, method = "GET" } = given
      const sent = ask({ host: "127.0.0.1", port, path, method, headers: { host, cookie } }, (response) => {
        const parts: Array<Buffer> = []
        response.on("data", (part: Buffer) => parts.push(part))
        response.on("end", () => {
          const cookies = response.headers["set-cookie"] ?? []
          for (const set of cookies) {
            const [name = "", value = ""] = set.split(";", 1)[0]?.split("=") ?? []
            if (value === "") jar.delete(name)
            else jar.set(name, value)
          }
          const { headers, statusCode: status } = response
          resume(Effect.succeed({ status, headers, body: String(Buffer.concat(parts)), cookies }))
        })
      })
      sent.end()
    })
  /** Opens a stream, and waits for its first part. */
  const listen = (path: string) =>
    Effect.callback<{ readonly hasEnded: () => boolean }>((resume) => {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ")
      ask({ host: "127.0.0.1", port, path, headers: { host: served, cookie } }, (response) => {
        response.once("data", () => resume(Effect.succeed({ hasEnded: () => response.complete })))
        response.resume()
      }).end()
    })
  const logIn = Effect.fnUntraced(function* (claims: Readonly<Record<string, unknown>>, at = "/") {
    const { headers, status } = yield* get(at)
    expect(status).toBe(303)
    const search = yield* Effect.promise(() => fake.logIn(String(headers["location"]), claims))
    return { search, answer: yield* get(`/callback${search}`) }
  })
  return { get, listen, logIn, jar, fake }
})

describe("the page of use at an ingress", () => {
  it.live("is shown to whom the provider has logged in, and to that browser alone", () =>
    Effect.gen(function* () {
      const { get, jar, logIn } = yield* serving()
      expect(yield* get("/api/usage")).toMatchObject({ status: 401 })
      const { answer } = yield* logIn({ sub: "1", preferred_username: "jane", groups: ["dev"] })
      expect(answer).toMatchObject({ status: 303, headers: { location: "/usage" } })
      for (const cookie of answer.cookies) {
        expect(cookie).toMatch(/^__Host-/u)
        for (const part of ["Path=/", "HttpOnly", "Secure", "SameSite=Lax"]) expect(cookie).toContain(part)
        expect(cookie).not.toContain("Domain")
      }
      expect([...jar.keys()]).toEqual(["__Host-braid"])
      expect(yield* get("/")).toMatchObject({ status: 200, body: "the page" })
      expect((yield* get("/")).headers).toMatchObject({ "x-frame-options": "DENY", "cache-control": "no-store" })
      expect(yield* get("/api/usage")).toMatchObject({ status: 200, body: "the report" })
      expect(yield* get("/other")).toMatchObject({ status: 404 })
      const broken = yield* get("/broken")
      expect(broken.status).toBe(500)
      expect(broken.body).not.toContain("a defect")
      // Another replica, or this one after a restart, with the same secret; then with other rules.
      expect(yield* (yield* serving({}, jar)).get("/")).toMatchObject({ status: 200 })
      expect(yield* (yield* serving({ groups: ["ops"] }, jar)).get("/api/usage")).toMatchObject({ status: 401 })
      yield* get("/logout")
      expect([...jar.keys()]).toEqual([])
      expect(yield* get("/api/usage")).toMatchObject({ status: 401 })
    })
  )

  it.live("leads whoever loads it without a login to the provider, and back to itself", () =>
    Effect.gen(function* () {
      const { get, logIn } = yield* serving({}, undefined, dashboardPage(idleFacade, served))
      const { answer } = yield* logIn({ sub: "1", groups: ["dev"] }, "/usage")
      const page = yield* get(String(answer.headers["location"]))
      expect(page).toMatchObject({ status: 200 })
      expect(page.body).toContain(`"context":"${served}"`)
    })
  )

  it.live("is not shown to a person of no listed group, who is told why", () =>
    Effect.gen(function* () {
      const { get, jar, logIn } = yield* serving()
      const { answer } = yield* logIn({ sub: "1", preferred_username: "joe", groups: ["other"] })
      expect(answer.status).toBe(403)
      expect(answer.body).toContain('You are logged in as "joe"')
      expect([...jar.keys()]).toEqual([])
      expect(yield* get("/api/usage")).toMatchObject({ status: 401 })
    })
  )

  it.live("takes a login only from the browser that began it, and once", () =>
    Effect.gen(function* () {
      const { fake, get, jar, logIn } = yield* serving()
      const { search } = yield* logIn({ sub: "1", groups: ["dev"] })
      jar.clear()
      expect(yield* get(`/callback${search}`)).toMatchObject({ status: 401 })
      const { headers } = yield* get("/login")
      const back = yield* Effect.promise(() => fake.logIn(String(headers["location"]), { sub: "1", groups: ["dev"] }))
      const mine = jar.get("__Host-braid-login") ?? ""
      yield* get("/login")
      expect(yield* get(`/callback${back}`)).toMatchObject({ status: 401 })
      jar.set("__Host-braid-login", mine)
      expect(yield* get(`/callback${back}`)).toMatchObject({ status: 303 })
      // The cookie of a login is none of a person.
      jar.set("__Host-braid", mine)
      expect(yield* get("/api/usage")).toMatchObject({ status: 401 })
    })
  )

  it.effect.each([
    { why: "the login ends", loginTime: 60_000, streamTime: 60_000 },
    { why: "ten minutes are over", loginTime: 8 * 3_600_000, streamTime: 600_000 }
  ])("ends an open stream when $why", ({ loginTime, streamTime }) =>
    Effect.gen(function* () {
      const end = (yield* Clock.currentTimeMillis) + loginTime
      const sealed = yield* makeSeal(Redacted.make(secret)).close("__Host-braid", { name: "", groups: ["dev"] }, end)
      const news = Stream.encodeText(Stream.concat(Stream.make("data: 1\n\n"), Stream.never))
      const page = Effect.succeed(Effect.succeed(HttpServerResponse.stream(news)))
      const { listen } = yield* serving({}, new Map([["__Host-braid", sealed]]), page)
      const { hasEnded } = yield* listen("/api/usage/events")
      yield* TestClock.adjust(streamTime - 1)
      yield* Effect.promise(() => turns())
      expect(hasEnded()).toBe(false)
      yield* TestClock.adjust(1)
      yield* Effect.promise(() => until("the stream ends", () => hasEnded() || undefined))
    })
  )

  it.live("answers by its own name, to reads, and by paths of one meaning alone", () =>
    Effect.gen(function* () {
      const { get, logIn } = yield* serving()
      yield* logIn({ sub: "1", groups: ["dev"] })
      expect(yield* get("/", { host: "127.0.0.1" })).toMatchObject({ status: 421 })
      expect(yield* get("/healthz", { host: "127.0.0.1" })).toMatchObject({ status: 200, body: "ok\n" })
      expect(yield* get("/", { method: "POST" })).toMatchObject({ status: 405 })
      for (const path of ["/api/usage;x", "//api/usage/..", "/a/../api/usage", "*"])
        expect(yield* get(path)).toMatchObject({ status: 400 })
    })
  )

  it.live("says that the provider is away", () =>
    Effect.gen(function* () {
      const { fake, get } = yield* serving()
      fake.goAway()
      const { body, status } = yield* get("/")
      expect(status).toBe(503)
      expect(body).toContain("cannot be asked who you are")
    })
  )
})

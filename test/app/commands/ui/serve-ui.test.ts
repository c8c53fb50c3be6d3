import { once } from "node:events"
import http from "node:http"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { aPage, aSession } from "../../../domain/commands/ui/pages.ts"
import { until } from "../../../support/until.ts"
import { serveFleet, type ServedFleet } from "./served-fleet.ts"

let served: ServedFleet
beforeEach(async () => {
  served = await serveFleet(aPage())
})
afterEach(() => served.end())

/** The browser's cookie after it has followed a link. */
const cookieOf = (answer: Response): string => answer.headers.get("set-cookie")?.split(";")[0] ?? ""
const follow = (link: string): Promise<Response> => fetch(link, { redirect: "manual" })
const logIn = async (): Promise<string> => cookieOf(await follow(served.link("link")))
const get = async (path: string, cookie: string): Promise<Response> =>
  fetch(`${served.folder}${path}`, { headers: { cookie } })
const post = async (path: string, headers: Record<string, string>): Promise<Response> =>
  fetch(`${served.folder}${path}`, { method: "POST", headers })

const everything = [
  ...["/", "/page.js", "/page.css", "/lit-html.js", "/api/fleet", "/api/fleet/events", "/report.html"],
  ...["/usage", "/usage.js", "/api/usage/events", "/usage.xlsx", "/usage.csv"]
]

describe("the server of braid ui", () => {
  it("gives the cookie for the link, to this browser's pages alone, and goes to the page", async () => {
    const answer = await follow(served.link("link"))
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/run/"])
    expect(answer.headers.get("set-cookie")).toBe("braid_ui=the-cookie; Path=/run/; HttpOnly; SameSite=Strict")
  })

  it("goes to the page of the use by the link to it, and by any where there is no other page", async () => {
    expect((await follow(served.link("link", "usage"))).headers.get("location")).toBe("/run/usage")
    await served.end()
    served = await serveFleet(undefined)
    expect((await follow(served.link("link"))).headers.get("location")).toBe("/run/usage")
    expect((await get("/", await logIn())).status).toBe(404)
    expect(await (await get("/usage", await logIn())).text()).toContain('{"context":"primary","hasFleet":false}')
  })

  it("says why there is no file of the use", async () => {
    const answer = await get("/usage.json?from=2026-11-01&by=username", await logIn())
    expect([answer.status, await answer.text()]).toEqual([502, "It is away. Wait.\n"])
    expect(served.wishes).toEqual([{ from: "2026-11-01", to: undefined, by: "username" }])
  })

  it("takes the printed link as often as it is used, and the one that opens a browser once", async () => {
    const statuses: Array<number> = []
    for (const token of ["once", "once", "link", "link", "cookie"] as const)
      statuses.push((await follow(served.link(token))).status)
    expect(statuses).toEqual([303, 401, 303, 303, 401])
  })

  it("takes the link that opens a browser no more when the printed one was used", async () => {
    await logIn()
    expect((await follow(served.link("once"))).status).toBe(401)
  })

  it.each([...everything, "/nothing"])("answers %s with 401 without the cookie, and shows nothing", async (path) => {
    for (const cookie of ["", "braid=the-cookie", (await logIn()).replace("the-cookie", "the-link")]) {
      const answer = await get(`${path}?token=the-link`, cookie)
      expect([answer.status, await answer.text()]).toEqual([401, "Open the link that braid has printed.\n"])
    }
  })

  it.each(everything)("gives %s to the browser with the cookie, shut to everything from elsewhere", async (path) => {
    const answer = await get(path, await logIn())
    expect(answer.status).toBe(200)
    expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/u)
    expect(answer.headers.get("content-security-policy")).not.toMatch(/unsafe|http|\*/u)
    expect(
      ["x-frame-options", "x-content-type-options", "referrer-policy", "cache-control"].map((name) =>
        answer.headers.get(name)
      )
    ).toEqual(["DENY", "nosniff", "no-referrer", "no-store"])
    await answer.body?.cancel()
  })

  it.each(["/", "/auth?token=the-link", "//", "/run", "/run//", "/runs/", "http://["])(
    "is nowhere but in its folder: %s",
    async (path) => {
      const { hostname, host, port } = new URL(served.server)
      const headers = { host, cookie: await logIn() }
      const request = http.get({ hostname, port, path, headers })
      const [answer] = (await once(request, "response")) as [http.IncomingMessage]
      answer.resume()
      expect([answer.statusCode, answer.headers["x-frame-options"]]).toEqual([401, "DENY"])
    }
  )

  it("says 404 for what is not there, with the same headers", async () => {
    const answer = await get("/nothing", await logIn())
    expect([answer.status, answer.headers.get("x-frame-options")]).toEqual([404, "DENY"])
  })

  it("refuses a name that is not this machine's, as a page of another site would use it", async () => {
    const request = http.get(`${served.folder}/`, { headers: { host: "evil.example", cookie: await logIn() } })
    const [answer] = (await once(request, "response")) as [http.IncomingMessage]
    answer.resume()
    expect(answer.statusCode).toBe(403)
  })

  it("stops a session for the page's own request alone", async () => {
    const cookie = await logIn()
    const path = `/api/sessions/${aSession().name}/stop`
    const statuses = [
      await post(path, { cookie, origin: "http://evil.example" }),
      await post(path, { cookie }),
      await post(path, { origin: served.server }),
      await get(path, cookie)
    ].map(({ status }) => status)
    expect([statuses, served.stopped]).toEqual([[403, 403, 401, 404], []])
    const answer = await post(path, { cookie, origin: served.server })
    expect(await answer.json()).toEqual({ stopped: true, message: `Session ${aSession().name} is being stopped.` })
    expect(served.stopped).toEqual([aSession().name])
  })

  it("sends each change, and stops looking when the page is closed", async () => {
    const answer = await get("/api/fleet/events", await logIn())
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    const next = async () => JSON.parse(((await reader?.read())?.value ?? "").replace(/^data: /u, "")) as object
    expect(await next()).toEqual(JSON.parse(JSON.stringify(aPage())))
    await served.show(aPage({ sessions: [] }))
    expect(await next()).toMatchObject({ sessions: [] })
    expect(served.followers()).toBe(1)
    await reader?.cancel()
    await until("the end of the stream", () => served.followers() === 0 || undefined)
  })
})

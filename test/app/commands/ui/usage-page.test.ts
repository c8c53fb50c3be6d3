/** The usage page in a real browser, with the use that the test makes up. */

import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { aUsagePage, someHealth, someUse, use } from "../../../domain/commands/ui/usages.ts"
import { complaints } from "../../../lab/simulation/report/browser.ts"
import { until } from "../../../support/until.ts"
import { pagesInBrowser } from "./pages-in-browser.ts"

const { at, open } = pagesInBrowser("usage")

const first = (page: Page, section: string) => page.locator(`#${section} tbody th`).allTextContents()
const figures = (page: Page) => page.locator("#since-first .figure").allTextContents()
const many = (count: number) => Array.from({ length: count }, (_, i) => use(`user-${i}`, count - i))

describe("the usage page", () => {
  it("draws the report, and each newer one in the same elements", async () => {
    const { page, painted, problems } = await open()
    console.log(`first paint after ${Math.round(painted)} ms`)
    expect(await first(page, "users")).toEqual(["bob@laptop", "ann@laptop"])
    expect(await figures(page)).toEqual(["0.8 h", "0.3 h", "1", "0", "3", "9 hours"])
    await page.locator("#refresh").focus()
    await at.served.showUsage(aUsagePage([...someUse, use("carla", 1)]))
    await page.locator("#users tbody th", { hasText: "carla" }).waitFor()
    expect(await page.evaluate("document.activeElement.id")).toBe("refresh")
    expect(problems).toEqual([])
  })

  it("goes to the fleet and back", async () => {
    const { page } = await open()
    await page.getByRole("link", { name: "Fleet" }).click()
    await page.locator("button.session").waitFor()
    await page.getByRole("link", { name: "Use" }).click()
    await page.locator("#users tbody").waitFor()
  })

  it("asks for the period that is chosen: this month at first, and none that ends before it begins", async () => {
    const { page } = await open()
    const month = new Date().toISOString().slice(0, 8)
    expect(at.served.wishes).toEqual([{ from: `${month}01`, to: undefined, by: "machine_id" }])
    await page.locator("#period").selectOption("all")
    await page.locator("#by").selectOption("username")
    await page.locator("#from").fill("2026-11-05")
    await page.locator("#to").fill("2026-11-04")
    await page.locator("#said", { hasText: "From is after to" }).waitFor()
    await page.locator("#to").fill("2026-11-06")
    await until("the period is asked for", () => at.served.wishes.length === 5 || undefined)
    const by = "username"
    expect(at.served.wishes.slice(1)).toEqual([
      { from: undefined, to: undefined, by: "machine_id" },
      { from: undefined, to: undefined, by },
      { from: "2026-11-05", to: undefined, by },
      { from: "2026-11-05", to: "2026-11-06", by }
    ])
    expect(await page.locator("#period").inputValue()).toBe("own")
  })

  it("estimates the time saved by good numbers alone, and keeps them in the browser", async () => {
    const { page } = await open()
    await page.locator("#adjust").press("Enter")
    await page.locator("#userMinutes").fill("60")
    await page.locator("#ciMinutes").fill("30.5")
    expect(await page.locator("#saved").textContent()).toBe("3.5 h")
    for (const bad of ["", "-1", "NaN", "1e999", "five"]) {
      await page.locator("#userMinutes").fill(bad)
      await page.locator("#userMinutes-problem").waitFor()
      expect([await page.locator("#saved").textContent(), ...(await figures(page)).slice(0, 2)]).toEqual([
        "3.5 h",
        "3 h",
        "0.5 h"
      ])
    }
    await page.reload()
    await page.locator("#since-first").waitFor()
    expect((await figures(page)).slice(0, 2)).toEqual(["3 h", "0.5 h"])
  })

  it("compares users by time or by count", async () => {
    const { page } = await open()
    expect(await first(page, "activity")).toEqual(["bob@laptop", "ann@laptop"])
    await page.locator("#by-count").press("Enter")
    expect(await first(page, "activity")).toEqual(["ann@laptop", "bob@laptop"])
    expect(await page.locator("#by-count").getAttribute("aria-pressed")).toBe("true")
    expect(await page.locator("#activity tbody tr").first().textContent()).toContain("66.7 %")
  })

  it("has 10,000 users in pages that are filtered and sorted, and draws them no slower than others", async () => {
    await at.served.showUsage(aUsagePage(many(10_000)))
    const { page } = await open()
    await page.locator("#users .pager", { hasText: "Page 1 of 500, 10000 rows" }).waitFor()
    await page.locator("#users").getByRole("button", { name: "Next" }).press("Enter")
    expect(await page.locator("#users tbody tr").count()).toBe(20)
    await page.locator("#users .filter").fill("user-99 laptop")
    await page.locator("#users .pager", { hasText: "Page 1 of 6, 111 of 10000 rows" }).waitFor()
    const name = page.locator("#users").getByRole("button", { name: "User", exact: true })
    await name.click()
    expect((await first(page, "users"))[0]).toBe("user-9900@laptop")
    await name.click()
    expect((await first(page, "users"))[0]).toBe("user-99@laptop")
    expect(await page.locator("#users th[aria-sort]").getAttribute("aria-sort")).toBe("descending")
    await at.served.showUsage(aUsagePage([...many(10_000), use("user-99999", 1)]))
    await page.locator("#users tbody th", { hasText: "user-99999" }).waitFor()
  })

  it("shows a day where the pointer is, and all days as a table", async () => {
    const { page } = await open()
    const chart = page.locator("#days figure", { hasText: "Sessions of people" })
    expect(await chart.getByRole("img").getAttribute("aria-label")).toMatch(/2026-11-27 to 2026-11-29: 3 in all/u)
    const { width } = (await chart.getByRole("img").boundingBox()) ?? { width: 0 }
    await chart.getByRole("img").hover({ position: { x: width - 5, y: 40 } })
    await chart.getByText("2026-11-29: 1").waitFor()
    await page.locator("#days summary").press("Enter")
    expect(await first(page, "days")).toEqual(["2026-11-29", "2026-11-28", "2026-11-27"])
  })

  it("shows clusters' days as strips with a text, a day at the pointer, and all days as a table", async () => {
    const { page } = await open()
    expect(await first(page, "health > .scroll")).toEqual(["a", "b"])
    const strip = page.locator("#health tr", { hasText: "it does not answer" }).getByRole("img")
    expect(await strip.getAttribute("aria-label")).toBe(
      "b, 2026-11-27 to 2026-11-29: ready 98.85 % of the known time, outages: 2, 40m, longest 30m"
    )
    // Not by colour alone: time that was not ready is above, ready time below.
    const box = async (path: string) => (await strip.locator(path).boundingBox()) ?? expect.fail("it is not drawn")
    const [failed, ready, all] = [await box(".failed"), await box(".ready"), (await strip.boundingBox())?.height ?? 0]
    expect(failed.y).toBeLessThanOrEqual(ready.y)
    expect(failed.height).toBeLessThan(all / 2)
    const { width } = (await strip.boundingBox()) ?? { width: 0 }
    await strip.hover({ position: { x: width / 2, y: 10 } })
    await page.locator("#health-day", { hasText: "b, 2026-11-28: not ready 10m" }).waitFor()
    await page.locator("#health summary").press("Enter")
    const rows = page.locator("#health details tbody tr")
    expect(await rows.allInnerTexts()).toEqual([
      "2026-11-29\tready\tnot ready 30m",
      "2026-11-28\tready\tnot ready 10m",
      "2026-11-27\tready, unknown 2h\tready, unknown 2h"
    ])
    await at.served.showUsage(aUsagePage(someUse, {}, [], someHealth([])))
    await page.locator("#health .empty", { hasText: "No cluster of a fleet" }).waitFor()
    await at.served.showUsage(aUsagePage(someUse, {}, [], "It is old."))
    await page.locator("#health .hint", { hasText: "It is old." }).waitFor()
  })

  it("gives files of what is chosen", async () => {
    const { page } = await open()
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#xlsx").click()])
    expect(download.suggestedFilename()).toBe("braid-usage.xlsx")
    expect(readFileSync(await download.path(), "utf8")).toBe("xlsx")
    expect(at.served.wishes.at(-1)).toEqual(at.served.wishes[0])
  })

  it("shows no text of others as HTML", async () => {
    await at.served.showUsage(aUsagePage([use("<img src=x onerror=document.title='x'>", 1)]))
    const { page, problems } = await open()
    await page.locator("#users tbody th", { hasText: "<img" }).waitFor()
    expect([await page.locator("img").count(), problems]).toEqual([0, []])
  })

  it("says how an empty page fills, and why a person sees none", async () => {
    await at.served.showUsage(aUsagePage([]))
    const { page } = await open()
    await page.locator("#activity .empty", { hasText: "No person has begun a session" }).waitFor()
    const problem = { message: "You may not read the reports.", fix: "Ask for the role." }
    await at.served.showUsage({ problem, content: undefined })
    await page.reload()
    await page.locator("#problem", { hasText: "You may not read the reports. Ask for the role." }).waitFor()
    expect(await page.locator("section").count()).toBe(0)
  })

  it("keeps the last known state while the operator or its own server is away, and goes on", async () => {
    const { page } = await open()
    const { content } = aUsagePage()
    await at.served.showUsage({ problem: { message: "It is away.", fix: "Wait." }, content })
    await page.locator("#problem", { hasText: "This is the last known state. It is away. Wait." }).waitFor()
    await at.served.showUsage(aUsagePage())
    await page.locator("#problem").waitFor({ state: "detached" })
    await at.served.end()
    await page.locator("#away", { hasText: "Start it again" }).waitFor()
    expect(await page.locator("#users tbody tr").count()).toBe(2)
  })

  it("keeps what it knows where another choice has no report, and lets choose again", async () => {
    const { page } = await open()
    const problem = { message: "The period has not begun.", fix: "Choose another." }
    await at.served.showUsage({ problem, content: undefined })
    await page.locator("#from").fill("2999-01-01")
    await page.locator("#problem", { hasText: "This is the last known state. The period has not begun." }).waitFor()
    expect(await first(page, "users")).toEqual(["bob@laptop", "ann@laptop"])
    // A page that has read no report yet.
    await page.reload()
    await page.locator("#problem", { hasText: "The period has not begun." }).waitFor()
    expect(await page.locator("section").count()).toBe(0)
    await page.locator("#period").selectOption("all")
    await until("the period is asked for", () => at.served.wishes.at(-1)?.from === undefined || undefined)
    await page.locator("#refresh").focus()
    await at.served.showUsage(aUsagePage())
    await page.locator("#users tbody").waitFor()
    expect(await page.evaluate("document.activeElement.id")).toBe("refresh")
  })

  it("asks again by itself after a refusal, such as that of an ingress whose operator starts", async () => {
    const { page } = await open()
    const events = "**/api/usage/events*"
    await page.route(events, (route) => route.fulfill({ status: 503 }))
    await page.locator("#period").selectOption("all")
    await page.locator("#away", { hasText: "does not answer" }).waitFor()
    expect(await page.locator("#users tbody tr").count()).toBe(2)
    await page.unroute(events)
    await page.locator("#away").waitFor({ state: "detached" })
    expect(at.served.wishes.at(-1)).toMatchObject({ from: undefined })
  })

  it("leads to the login where one is needed again", async () => {
    const { page } = await open()
    await page.route(page.url(), async (route) => {
      const body = await (await route.fetch()).text()
      await route.fulfill({ contentType: "text/html", body: body.replace("{", '{"logIn":"/login",') })
    })
    await page.reload()
    await page.locator("#users tbody").waitFor()
    await page.route("**/api/usage/events*", (route) => route.fulfill({ status: 401 }))
    await page.locator("#refresh").click()
    const link = page.locator("#away").getByRole("link", { name: "Log in" })
    await link.waitFor()
    expect(await link.getAttribute("href")).toBe("/login")
  })

  it("takes a stream that ends and is there again for no server that is away", async () => {
    const { page } = await open()
    let asked = 0
    const body = `retry: 20\ndata: ${JSON.stringify(aUsagePage())}\n\n`
    await page.route("**/api/usage/events*", (route) => {
      asked++
      return route.fulfill({ contentType: "text/event-stream", body })
    })
    await page.evaluate(
      `new MutationObserver(() => { window.wasAway ||= document.getElementById("away") !== null })
        .observe(document, { childList: true, subtree: true })`
    )
    await page.locator("#refresh").click()
    await until("the stream has ended some times", () => asked > 5 || undefined)
    expect(await page.evaluate("window.wasAway ?? false")).toBe(false)
  })

  it.each([320, 1_280, 3_840])("is as wide as a screen of %d pixels, and no wider", async (width) => {
    await at.served.showUsage(aUsagePage([...someUse, use("long".repeat(60), 1)]))
    const { page } = await open({ viewport: { width, height: 900 } })
    await page.locator("#users tbody tr").nth(2).waitFor()
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width)
  })

  it.each(["light", "dark"] as const)(
    "gives axe-core nothing to complain about on a %s screen",
    async (colorScheme) => {
      await at.served.showUsage(aUsagePage(many(30)))
      // The page's own policy lets no other script in.
      const { page } = await open({ bypassCSP: true, colorScheme })
      expect(await complaints(page)).toEqual([])
      await page.locator("#days summary").click()
      await page.locator("#health summary").click()
      await page.locator("#adjust").click()
      await page.locator("#userMinutes").fill("x")
      expect(await complaints(page)).toEqual([])
    }
  )
})

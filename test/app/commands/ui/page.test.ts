/** The page of `braid ui` in a real browser, with fleets that the test makes up. */

import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { savedPage } from "../../../../src/app/commands/ui/page.ts"
import { staleFleetPage } from "../../../../src/domain/commands/ui/fleet-page.ts"
import { aCluster, aPage, aSession, now } from "../../../domain/commands/ui/pages.ts"
import { complaints } from "../../../lab/simulation/report/browser.ts"
import { until } from "../../../support/until.ts"
import { pagesInBrowser } from "./pages-in-browser.ts"

const { at, open } = pagesInBrowser("fleet")

const rows = (page: Page, section: string): Promise<ReadonlyArray<string>> =>
  page.locator(`#${section} tbody tr`).allTextContents()
const many = Array.from({ length: 2_000 }, (_, i) =>
  aSession({ name: `mc-${(i + 1).toString(16).padStart(16, "0")}`, user: i === 1_999 ? "zoe" : "ann" })
)

describe("the page", () => {
  it("draws what it is given at once, and every change, in the same elements", async () => {
    const { page, problems } = await open()
    expect((await rows(page, "fleet")).map((row) => row.trim().split(/\s+/u)[0])).toEqual(["a", "b", "c"])
    await page.locator("button.session").focus()
    await at.served.show(aPage({ clusters: [aCluster("a"), aCluster("b", "Lost", "It is away."), aCluster("c")] }))
    await page.locator("#fleet tbody tr", { hasText: "It is away." }).waitFor()
    expect(await page.evaluate("document.activeElement.textContent")).toBe("FF")
    expect(problems).toEqual([])
  })

  it("shows no text of others as HTML", async () => {
    const evil = "<img src=x onerror=document.title='x'></script><script>document.title='x'</script>"
    await at.served.show(aPage({ sessions: [aSession({ user: evil })], notes: [evil], context: evil }))
    const { page, problems } = await open()
    expect(await page.title()).toBe(`${evil} – braid`)
    expect(await page.locator("img").count()).toBe(0)
    expect(await page.locator("h1").textContent()).toBe(evil)
    expect(problems).toEqual([])
  })

  it("filters by words, over all tables", async () => {
    await at.served.show(aPage({ sessions: [aSession(), aSession({ name: "mc-0000000000000001", user: "bob" })] }))
    const { page } = await open()
    await page.locator("#filter").fill("BOB deployment")
    expect(await page.locator("button.session").allTextContents()).toEqual(["1"])
    expect(await rows(page, "fleet")).toEqual([])
    expect(await page.locator("#sessions .hint").textContent()).toBe("1 of 2 are shown.")
    await page.locator("#filter").fill("")
    expect(await page.locator("button.session").count()).toBe(2)
  })

  it("pauses, and then shows the present state", async () => {
    const { page } = await open()
    await page.locator("#pause").click()
    await page.locator("#said", { hasText: "the page stays as it is" }).waitFor()
    await at.served.show(aPage({ sessions: [] }))
    await page.locator("#said", { hasText: "newer looks wait" }).waitFor()
    expect(await page.locator("button.session").count()).toBe(1)
    expect(await page.locator("#pause").getAttribute("aria-pressed")).toBe("true")
    await page.locator("#pause").click()
    await page.locator("#sessions .empty").waitFor()
  })

  it("says that its server has ended, or that the cluster does not answer, and keeps what it knows", async () => {
    const { page } = await open()
    await at.served.show(
      staleFleetPage(aPage(), { message: "The cluster does not answer.", fix: "braid doctor says more." })
    )
    await page.locator("#problem", { hasText: "braid doctor says more." }).waitFor()
    await at.served.end()
    await page.locator("#away", { hasText: "Start it again" }).waitFor()
    expect(await page.locator("button.session").count()).toBe(1)
  })

  it("shows a session in detail by keyboard alone, and stops it only after it has asked", async () => {
    const { page } = await open()
    await page.locator("button.session").press("Enter")
    expect(await page.locator("#detail").textContent()).toMatch(/Session FF.*deployment\/web.*Steals ports\s*80/su)
    await page.locator("#detail button.stop").press("Enter")
    await page.locator("#confirm button.no").press("Enter")
    expect(await page.locator("#confirm").isVisible()).toBe(false)
    expect(at.served.stopped).toEqual([])
    await page.locator("#detail button.stop").press("Enter")
    await page.locator("#confirm button.yes").press("Enter")
    await page.locator("#said", { hasText: "is being stopped" }).waitFor()
    expect(at.served.stopped).toEqual([aSession().name])
    await page.keyboard.press("Escape")
    expect(await page.locator("#detail").isVisible()).toBe(false)
  })

  it("shows why a session failed in its row, and the cure of a cluster that is left out in its detail", async () => {
    const without = [{ name: "b", ready: false, reason: "b is lost" }]
    await at.served.show(
      aPage({
        clusters: [aCluster("a"), aCluster("b", "Lost", "It is away.")],
        sessions: [
          aSession({ clusters: without }),
          aSession({ name: "mc-0000000000000001", phase: "Failed", reason: "no web" })
        ]
      })
    )
    const { page } = await open()
    expect((await rows(page, "sessions")).map((row) => /no web/u.test(row))).toEqual([false, true])
    await page.locator("button.session").first().click()
    expect(await page.locator("#detail").textContent()).toMatch(/b: left out\s+b is lost\s+See whether .*--cluster b/u)
  })

  it("has what local processes do in a session's detail, and in the table where that is asked for", async () => {
    await at.served.show(aPage({ localEvents: new Map([["FF", [{ at: now, text: "looks up db", count: 1 }]]]) }))
    const { page } = await open()
    expect(await rows(page, "events")).toEqual([])
    await page.locator("#kind").selectOption("local")
    expect(await rows(page, "events")).toEqual([expect.stringContaining("looks up db")])
    await page.locator("button.session").click()
    expect(await page.locator("#detail").textContent()).toContain("looks up db")
  })

  it("copies what is shown as text", async () => {
    const { context, page } = await open()
    await context.grantPermissions(["clipboard-read", "clipboard-write"])
    await page.locator("#copy").click()
    await page.locator("#said", { hasText: "Copied" }).waitFor()
    const copied: string = await page.evaluate("navigator.clipboard.readText()")
    expect(copied).toContain(`primary at ${aPage().time}: primary of a fleet`)
    expect(copied).toContain(aPage().sessions[0]?.text)
  })

  it("says how empty tables fill", async () => {
    await at.served.show(aPage({ clusters: [], sessions: [] }))
    const { page } = await open()
    expect(await page.locator(".empty").allTextContents()).toEqual([
      expect.stringContaining("braid join NAME"),
      expect.stringContaining("mirrord exec"),
      expect.stringContaining("appears here")
    ])
  })

  it("draws a part of very many sessions, and finds the others", async () => {
    await at.served.show(aPage({ sessions: many }))
    const { page } = await open()
    expect(await page.locator("button.session").count()).toBe(500)
    await page.locator("#filter").fill("zoe")
    expect(await page.locator("button.session").allTextContents()).toEqual(["7D0"])
  })

  it("asks for no change while it is not seen", async () => {
    const { page } = await open()
    await until("the page follows", () => at.served.followers() === 1 || undefined)
    const see = (hidden: boolean): Promise<unknown> =>
      page.evaluate(
        `Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });` +
          `document.dispatchEvent(new Event("visibilitychange"))`
      )
    await see(true)
    await until("the page follows no more", () => at.served.followers() === 0 || undefined)
    await see(false)
    await until("the page follows", () => at.served.followers() === 1 || undefined)
  })

  it.each([320, 1_280, 3_840])("is as wide as a screen of %d pixels, and no wider", async (width) => {
    const { page } = await open({ viewport: { width, height: 900 } })
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width)
  })

  it.each(["light", "dark"] as const)(
    "gives axe-core nothing to complain about on a %s screen",
    async (colorScheme) => {
      await at.served.show(
        aPage({
          clusters: [aCluster("a"), aCluster("b", "Lost", "It is away."), aCluster("c", "Connecting", "It starts.")],
          sessions: [
            aSession({ clusters: [{ name: "b", ready: false, reason: "b is lost" }] }),
            aSession({ phase: "Failed" })
          ],
          notes: ["A note."]
        })
      )
      // The page's own policy lets no other script in.
      const { page } = await open({ bypassCSP: true, colorScheme })
      expect(await complaints(page)).toEqual([])
      await page.locator("button.session").first().click()
      expect(await complaints(page)).toEqual([])
    }
  )

  it("is saved as one file that needs nothing else, and can still be read and filtered", async () => {
    const { page } = await open()
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save").click()])
    expect(download.suggestedFilename()).toBe("braid-2026-11-29-12-00-00-UTC.html")
    const file = readFileSync(await download.path(), "utf8")
    expect(file).toBe(savedPage(aPage()))
    const offline = await at.browser.newContext({ offline: true })
    const saved = await offline.newPage()
    const requests: Array<string> = []
    saved.on("request", (request) => requests.push(request.url()))
    await saved.setContent(file)
    expect(await saved.locator("button.session").allTextContents()).toEqual(["FF"])
    expect(await saved.locator("#pause, #save").count()).toBe(0)
    await saved.locator("#filter").fill("nothing of this")
    expect(await saved.locator("button.session").count()).toBe(0)
    expect(requests.filter((url) => !url.startsWith("data:"))).toEqual([])
  })
})

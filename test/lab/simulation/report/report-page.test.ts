/** The report page in a real browser: it draws, filters and explains without any network. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeReport } from "../../../../lab/simulation/report/make-report.ts"
import { reportPage } from "../../../../lab/simulation/report/report-page.ts"
import { runStory } from "../../../../lab/simulation/story/run-story.ts"
import { simulate } from "../command/run-simulate.ts"
import { startBrowser } from "./browser.ts"

let folder: string
let browser: Awaited<ReturnType<typeof startBrowser>>
beforeAll(async () => {
  folder = mkdtempSync(`${tmpdir()}/report-page-`)
  const { code } = await simulate(folder, ["--scenario", "member-cut-40s", "--report", "story.html"])
  expect(code).toBe(0)
  browser = await startBrowser()
})
afterAll(async () => {
  await browser.stop()
  rmSync(folder, { recursive: true, force: true })
})

const open = async (options: { readonly colorScheme?: "light" | "dark"; readonly hasTouch?: boolean } = {}) => {
  const page = await browser.browser.newPage({ viewport: { width: 1280, height: 900 }, ...options })
  page.setDefaultTimeout(150_000)
  const problems: Array<string> = []
  const requests: Array<string> = []
  page.on("pageerror", ({ message }) => problems.push(message))
  page.on("console", (message) => problems.push(message.text()))
  page.on("request", (request) => requests.push(request.url()))
  await page.goto(`file://${folder}/story.html`)
  return { page, problems, requests }
}
const names = (page: Page, selector: string): Promise<ReadonlyArray<string>> =>
  page.locator(selector).evaluateAll((marks) => marks.map((mark) => mark.getAttribute("aria-label") ?? ""))

describe("the page of the story member-cut-40s", () => {
  it("opens without any request but for itself, and without a complaint", async () => {
    const { page, problems, requests } = await open()
    expect(requests).toEqual([`file://${folder}/story.html`])
    expect(problems).toEqual([])
    expect(readFileSync(`${folder}/story.html`, "utf8")).not.toMatch(/<(script|link|img)[^>]+(src|href)="(?!data:)/)
    await page.close()
  })

  it("tells the story: name, seed, verdict, the cut of b, the session that goes on, the requests", async () => {
    const { page } = await open()
    expect(await page.title()).toBe("scenario member-cut-40s – passed")
    expect(await page.locator("h1").textContent()).toBe("scenario member-cut-40s")
    expect(await page.locator("#verdict").textContent()).toBe("passed")
    expect(await page.locator("#seed").textContent()).toBe("1")
    const bands = new Set(await names(page, ".band rect"))
    expect([...bands]).toEqual([
      expect.stringMatching(/^cut: nothing passes between primary and b, \d+\.\d+ s to \d+\.\d+ s$/)
    ])
    const [, from, to] = /, (\S+) s to (\S+) s$/.exec([...bands][0] ?? "") ?? []
    expect(Number(to) - Number(from)).toBeCloseTo(40, 0)
    const bars = await names(page, ".bar rect")
    expect(bars.filter((bar) => bar.startsWith("primary parent of s1: parent of s1: Ready without b"))).toHaveLength(1)
    expect(bars.filter((bar) => bar.startsWith("s1: connected")).length).toBeGreaterThan(0)
    const asked = readFileSync(
      new URL("../../../../lab/simulation/scenarios/member-cut-40s.txt", import.meta.url),
      "utf8"
    ).match(/^request /gm)
    const requests = await names(page, ".request circle, .request path")
    expect(requests).toHaveLength(asked?.length ?? -1)
    expect(requests.filter((request) => /at a: answered by s1 with 200/.test(request)).length).toBeGreaterThan(2)
    expect(await page.locator(".sparklines path").count()).toBeGreaterThan(2)
    await page.close()
  })

  it("draws the cut exactly where it was, behind the rows of b and nowhere else", async () => {
    const { page } = await open()
    const boxes = await page
      .locator(".band rect")
      .evaluateAll((rects) => rects.map((rect) => rect.getBoundingClientRect().toJSON() as DOMBox))
    const rowOf = async (text: string) =>
      (
        await page
          .locator(".timeline text", { hasText: new RegExp(`^${text}$`) })
          .first()
          .boundingBox()
      )?.y ?? 0
    expect(Math.min(...boxes.map(({ top }) => top))).toBeGreaterThan(await rowOf("a requests"))
    expect(Math.max(...boxes.map(({ bottom }) => bottom))).toBeGreaterThan(await rowOf("b requests"))
    expect(new Set(boxes.map(({ left }) => Math.round(left))).size).toBe(1)
    await page.close()
  })

  it("shows details of what the pointer is at", async () => {
    const { page } = await open()
    await page.locator('.bar rect[aria-label*="Ready without b"]').hover()
    expect(await page.locator("#details").textContent()).toContain("Ready without b")
    await page.mouse.move(2, 2)
    expect(await page.locator("#details").isHidden()).toBe(true)
    await page.close()
  })

  it("shows details of what is tapped", async () => {
    const { page } = await open({ hasTouch: true })
    await page.locator('.bar rect[aria-label*="Ready without b"]').tap()
    expect(await page.locator("#details").textContent()).toContain("Ready without b")
    await page.close()
  })

  it("can be read by keyboard alone", async () => {
    const { page } = await open()
    for (let i = 0; i < 7; i++) await page.keyboard.press("Tab")
    const details = async () => (await page.locator("#details").textContent()) ?? ""
    const first = await details()
    expect(first).toMatch(/^cut: /)
    const seen = new Set([first])
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press("ArrowRight")
      seen.add(await details())
    }
    expect([...seen].some((text) => text.includes("Ready without b"))).toBe(true)
    expect([...seen].some((text) => text.startsWith("request "))).toBe(true)
    await page.keyboard.press("Home")
    expect(await details()).toBe(first)
    await page.close()
  })

  it("shows another part of the time", async () => {
    const { page } = await open()
    const shown = page.locator("#shown")
    await page.getByRole("button", { name: "everything" }).click()
    const [, end] = /^0 s to (\d+) s$/.exec((await shown.textContent()) ?? "") ?? []
    expect(Number(end)).toBeGreaterThan(1000)
    await page.getByRole("button", { name: "closer" }).click()
    expect(await shown.textContent()).not.toBe(`0 s to ${end} s`)
    await page.getByRole("button", { name: "the acts" }).click()
    expect(await shown.textContent()).toMatch(/^0 s to \d\d s$/)
    await page.close()
  })

  it("filters its events", async () => {
    const { page } = await open()
    const rows = page.locator("#events tr")
    const all = await rows.count()
    await page.locator("#filter").fill("nothing passes")
    expect(await rows.allTextContents()).toEqual([
      expect.stringMatching(/^[\d.]+bfaultfault: nothing passes between primary and b$/)
    ])
    await page.locator("#filter").fill("")
    expect(await rows.count()).toBe(all)
    await page.locator("#kind").selectOption("request")
    const requests = await rows.count()
    expect(requests).toBeGreaterThan(0)
    expect(requests).toBeLessThan(all)
    expect(await page.locator("#found").textContent()).toBe(`${requests} of ${all} events`)
    await page.close()
  })

  it.each(["light", "dark"] as const)("has text that stands out on a %s screen", async (colorScheme) => {
    const { page } = await open({ colorScheme })
    // As text, because the project is compiled without the browser's types.
    const styleOf = (name: string): Promise<string> => page.evaluate(`getComputedStyle(document.body).${name}`)
    const colors = { backgroundColor: await styleOf("backgroundColor"), color: await styleOf("color") }
    const brightness = (color: string): number =>
      (color.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3
    const difference = brightness(colors.backgroundColor) - brightness(colors.color)
    expect(colorScheme === "light" ? difference : -difference).toBeGreaterThan(180)
    await page.close()
  })
})

it("a page says what broke, and no text of a story is taken for HTML", () => {
  const story = {
    seed: "<b>&",
    lines: ["cluster a default", "tick 1s", "# </script><script>alert(1)</script>", "request a", "tick 1s"]
  }
  const text = reportPage(makeReport("<i>title", story, runStory(story, { events: true })))
  expect(text).not.toContain("alert(1)</script>")
  expect(text).toContain("<h1>&lt;i&gt;title</h1>")
  expect(text).toContain("&lt;b&gt;&amp;")
})

interface DOMBox {
  readonly top: number
  readonly bottom: number
  readonly left: number
}

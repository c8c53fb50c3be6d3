/** The pages of `braid ui` in a real browser, for tests: one browser for a file, and a server for each test. */

import type { Browser, BrowserContextOptions } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest"
import type { UiPageName } from "../../../../src/app/commands/ui/serve-ui.ts"
import { aPage } from "../../../domain/commands/ui/pages.ts"
import { startBrowser } from "../../../lab/simulation/report/browser.ts"
import { serveFleet, type ServedFleet } from "./served-fleet.ts"

/** Starts them before the tests of this file, and ends them. `name`: the page that is opened. */
export const pagesInBrowser = (name: UiPageName) => {
  let started: Awaited<ReturnType<typeof startBrowser>>
  const at = {} as { served: ServedFleet; browser: Browser }
  beforeAll(async () => {
    started = await startBrowser()
    at.browser = started.browser
  })
  afterAll(() => started.stop())
  beforeEach(async () => {
    at.served = await serveFleet(aPage())
  })
  afterEach(async () => {
    for (const context of at.browser.contexts()) await context.close()
    await at.served.end()
  })
  /** Opens the page by its link. `painted`: ms until its headline was there. */
  const open = async (options: BrowserContextOptions = {}) => {
    const context = await at.browser.newContext(options)
    const page = await context.newPage()
    page.setDefaultTimeout(150_000)
    const problems: Array<string> = []
    page.on("pageerror", ({ message }) => problems.push(message))
    page.on("console", (message) => problems.push(message.text()))
    const begun = performance.now()
    await page.goto(at.served.link("link", name))
    await page.locator("h1").waitFor()
    return { context, page, problems, painted: performance.now() - begun }
  }
  return { at, open }
}

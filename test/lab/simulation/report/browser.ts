/** A headless browser for tests of the report page. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { type Browser, chromium, type Page } from "playwright-core"
import { restoreEnvironment } from "../../../support/restore-environment.ts"

/**
 * Starts the headless Chromium of the package @sparticuz/chromium, unpacked to a folder of its own. Libraries and fonts
 * that a machine may lack come with it. The package lays them out only where it believes to be on AWS Lambda, so it is
 * told so.
 */
export const startBrowser = async (): Promise<{ readonly browser: Browser; readonly stop: () => Promise<void> }> => {
  const kept = { ...process.env }
  const folder = mkdtempSync(`${tmpdir()}/chromium-`)
  try {
    process.env["TMPDIR"] = folder
    process.env["AWS_LAMBDA_JS_RUNTIME"] = "nodejs24.x"
    const { default: packaged } = await import("@sparticuz/chromium")
    packaged.setGraphicsMode = false
    const executablePath = await packaged.executablePath()
    // The package's own file of this name looks for fonts only in /tmp, and Chromium ends if it finds no font.
    writeFileSync(
      `${folder}/fonts/fonts.conf`,
      `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM ` +
        `"fonts.dtd"><fontconfig><dir>${folder}/fonts</dir><cachedir>${folder}/cache</cachedir></fontconfig>`
    )
    const env = { ...process.env, FONTCONFIG_PATH: `${folder}/fonts` }
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], env, timeout: 600_000 })
    return {
      browser,
      stop: async () => {
        await browser.close()
        rmSync(folder, { recursive: true, force: true })
      }
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error("the packaged Chromium cannot be started", { cause: error })
  } finally {
    restoreEnvironment(kept)
  }
}

const axe = new URL("../../../../node_modules/axe-core/axe.min.js", import.meta.url)

/** The complaints of axe-core about a page, whose context was made with `bypassCSP`. */
export const complaints = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(readFileSync(axe, "utf8"))
  return page.evaluate("axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + nodes[0].html))")
}

import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const script = fileURLToPath(new URL("../../scripts/engines.mjs", import.meta.url))

it.each([
  ["an option that it does not know", ["--version"], "Unknown option '--version'"],
  ["a machine that has no Go", [], "Go is missing: install Go 1.26 or newer"]
])("scripts/engines.mjs refuses %s, and leaves nothing behind", (_, args, sentence) => {
  const folder = mkdtempSync(join(tmpdir(), "braid-engines-script-"))
  try {
    const env = { PATH: folder, BRAID_CACHE: folder }
    const { status, stderr } = spawnSync(process.execPath, [script, ...args], { env, encoding: "utf8" })
    expect(status).toBe(1)
    expect(stderr).toContain(`npm run engines: ${sentence}`)
    expect(readdirSync(folder)).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** A new switch of the chart costs three files by hand; all others are written by the generators. */

import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const copy = mkdtempSync(join(tmpdir(), "braid-new-setting-"))
afterAll(() => rmSync(copy, { recursive: true }))

const read = (file: string): string => readFileSync(join(copy, file), "utf8")
const edit = (file: string, from: string, to: string): void => {
  const text = read(file)
  expect(text, `${file} has ${from}`).toContain(from)
  writeFileSync(join(copy, file), text.replace(from, to))
}
const run = (script: string): string =>
  execFileSync(process.execPath, [join(copy, "scripts", script)], { cwd: copy, encoding: "utf8" })

describe("a new switch of the chart, even one that is on by default", () => {
  it("is a card, a value and the code that acts on it", () => {
    for (const folder of ["src", "scripts", "charts", "crds", "docs/reference", "test/conformance", "package.json"])
      cpSync(join(root, folder), join(copy, folder), { recursive: true })
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
    edit(
      "src/domain/targets/settings.ts",
      "export const targetSettings = {",
      `export const targetSettings = {
        sleeps: {
          variable: "OPERATOR_SLEEPS", form: "truth", default: true, value: "targets.sleep", where: "targets",
          about: "whether targets sleep"
        },`
    )
    edit(
      "charts/mirrord-operator/values.yaml",
      "\ntargets:\n",
      "\ntargets:\n  # -- Whether targets sleep.\n  sleep: true\n"
    )
    edit(
      "src/app/sessions/member/member-capability.ts",
      "addsSessionKey: (yield* CurrentSettings).addsSessionKey,",
      "addsSessionKey: (yield* CurrentSettings).addsSessionKey && !(yield* CurrentSettings).sleeps,"
    )
    expect(run("generate-chart.mjs").trim().split(", ")).toEqual([
      "written: charts/mirrord-operator/files/settings.yaml",
      "charts/mirrord-operator/files/known-values.yaml",
      "charts/mirrord-operator/values.schema.json",
      "charts/mirrord-operator/README.md"
    ])
    expect(run("generate-reference.mjs").trim()).toBe("written: docs/reference/settings.md")
    expect(read("charts/mirrord-operator/files/settings.yaml")).toMatch(
      /OPERATOR_SLEEPS:\n {2}form: truth\n(?: {2}.+\n)+? {2}value: targets\.sleep\n {2}where: targets\n {2}default: true\n {2}isOnByDefault: true\n/u
    )
    expect(read("docs/reference/settings.md")).toContain("| `OPERATOR_SLEEPS` | `true` | `targets.sleep` |")
    // The operator reads it, under the name that the card gives it.
    const values = join(copy, "src/app/kernel/setting-values.ts")
    const program = `import { Effect } from "effect"
      import { settingValues } from ${JSON.stringify(values)}
      console.log(Effect.runSync(settingValues).sleeps)`
    const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: copy,
      encoding: "utf8",
      env: { ...process.env, OPERATOR_SLEEPS: "false" }
    })
    expect(printed.trim()).toBe("false")
  })
})

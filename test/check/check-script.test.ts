import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { runProgram } from "./run-program.ts"

const script = fileURLToPath(new URL("../../scripts/check.mjs", import.meta.url))
const check = (...parts: ReadonlyArray<string>) => runProgram(process.execPath, [script, ...parts])

it("runs the named parts alone", async () => {
  const { status, stdout } = await check("versions", "rooms")
  expect([status, stdout.trim().split("\n").at(-1)]).toEqual([0, "check: passed"])
  expect(stdout).toContain("rooms")
  expect(stdout).not.toContain("formatting")
})

it("refuses a part that there is not, and names those that there are", async () => {
  const { status, stderr } = await check("version", "rooms")
  expect([status, stderr]).toEqual([2, expect.stringMatching(/no part version; .* tsc, .* rooms/u)])
})

/** Finding the programs of engines, in folders that the test makes. */

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { engineProgram, enginesFolder, missingEngines } from "../../../lab/playground/engine-programs.ts"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "engines-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const program = (place: string, mode = 0o755): string => {
  const file = join(folder, place, "an-engine")
  mkdirSync(join(folder, place), { recursive: true })
  writeFileSync(file, "")
  chmodSync(file, mode)
  return file
}

it("are found in PATH before what was made here, if they can be run", () => {
  const env = { PATH: join(folder, "bin"), BRAID_CACHE: join(folder, "cache") }
  expect(engineProgram("an-engine", env)).toBeUndefined()
  const made = program("cache/engines/bin")
  expect(engineProgram("an-engine", env)).toBe(made)
  const installed = program("bin", 0o644)
  expect(engineProgram("an-engine", env)).toBe(made)
  chmodSync(installed, 0o755)
  expect(engineProgram("an-engine", env)).toBe(installed)
})

it("are made in a folder that those who run them may read, unless BRAID_CACHE says another one", () => {
  expect(enginesFolder({ BRAID_CACHE: "/cache" })).toBe("/cache/engines")
  expect(enginesFolder({})).toMatch(/\/\.?cache\/braid\/engines$/u)
})

it("those that are nowhere are named with what provides them", () => {
  expect(missingEngines(["mongosh", "mongodump"])).toBe(
    "mongosh, mongodump not found in PATH: `npm run engines` provides what is missing, once"
  )
})

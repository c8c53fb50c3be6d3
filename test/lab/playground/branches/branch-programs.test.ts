import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { findMirrord, missingForBranches } from "../../../../lab/playground/branches/branch-programs.ts"

describe("the programs of the story of branches", () => {
  const folder = mkdtempSync(join(tmpdir(), "mirrord-"))
  const mirrord = join(folder, "mirrord")
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("are found on the path, and before that by their variable", () => {
    writeFileSync(mirrord, "")
    const PATH = ["/nowhere", folder].join(delimiter)
    expect(findMirrord({ PATH })).toBeUndefined()
    chmodSync(mirrord, 0o755)
    expect(findMirrord({ PATH })).toBe(mirrord)
    expect(findMirrord({ PATH, MIRRORD_BIN: process.execPath })).toBe(process.execPath)
    expect(findMirrord({})).toBeUndefined()
  })

  it("are told with how to get them where they are missing, all at once", () => {
    const all = { mirrord: "/bin/mirrord", postgresql: "/bin" }
    expect(missingForBranches(all)).toBeUndefined()
    expect(missingForBranches({ ...all, postgresql: undefined })).toMatch(/^PostgreSQL found .* `npm run engines/u)
    expect(missingForBranches({ ...all, mirrord: undefined })).toMatch(/^mirrord found .* get version 3\.250\.0 from/u)
    expect(missingForBranches({ mirrord: undefined, postgresql: undefined })).toMatch(/^PostgreSQL .*; mirrord /u)
  })
})

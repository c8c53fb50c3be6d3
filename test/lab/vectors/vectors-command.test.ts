/** The command `npm run vectors`: output and exit codes. */

import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const vectors = (...args: ReadonlyArray<string>) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["lab/vectors/vectors-command.ts", ...args], {
    cwd: root,
    encoding: "utf8"
  })
  return { status, lines: stdout.trimEnd().split("\n"), stderr }
}

describe("npm run vectors", () => {
  let folder = ""
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "braid-vectors-"))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const file = (name: string, ...lines: ReadonlyArray<string>): string => {
    writeFileSync(join(folder, name), lines.join("\n"))
    return join(folder, name)
  }
  const good = '{"dir":"client","hex":"07","value":{"$":"Ping"}}'

  it("passes the reference implementation's", () => {
    expect(vectors("test/vectors/protocol.jsonl", "test/vectors/invalid.jsonl")).toMatchObject({
      status: 0,
      lines: ["556 passed, 0 failed"]
    })
  })
  it("prints a line per failure with file and line", () => {
    const path = file(
      "bad.jsonl",
      good,
      "",
      '{"dir":"client","hex":"00","value":{"$":"Ping"}}',
      "{",
      '{"dir":"client","hex":"07","vlaue":1}'
    )
    const { status, lines } = vectors(path)
    expect(status).toBe(1)
    expect(lines).toEqual([
      expect.stringContaining(`${path}:3: "00": value.$: expected "Ping", found "Close"`),
      expect.stringContaining(`${path}:4: not JSON: `),
      expect.stringContaining(`${path}:5: unknown field "vlaue"; known: `),
      "1 passed, 3 failed"
    ])
  })
  it("fails on a file that is not there, and on one without vectors, but checks the others", () => {
    const { status, lines } = vectors(join(folder, "none"), file("empty.jsonl", ""), file("good.jsonl", good))
    expect(status).toBe(1)
    expect(lines).toEqual([
      expect.stringContaining("none: cannot be read: "),
      expect.stringContaining("empty.jsonl: holds no vectors"),
      "1 passed, 2 failed"
    ])
  })
  it("explains itself", () => {
    expect(vectors("--help")).toMatchObject({ status: 0, lines: expect.arrayContaining(["npm run vectors -- FILE…"]) })
    expect(vectors()).toMatchObject({ status: 2, stderr: expect.stringContaining("no FILE given") })
    expect(vectors("--nope")).toMatchObject({ status: 2, stderr: expect.stringContaining("--nope") })
  })
})

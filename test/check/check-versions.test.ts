import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { copyCheckFiles } from "./check-files.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const chart = "charts/mirrord-operator"

describe("scripts/check-versions.mjs", () => {
  let copy = ""
  beforeEach(() => {
    copy = realpathSync(mkdtempSync(join(tmpdir(), "braid-versions-")))
    copyCheckFiles(copy)
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
  })
  afterEach(() => rmSync(copy, { recursive: true, force: true }))

  const change = (file: string, from: RegExp, to: string): void => {
    const text = readFileSync(join(copy, file), "utf8")
    expect(text).toMatch(from)
    writeFileSync(join(copy, file), text.replace(from, to))
  }
  const check = () => {
    const { status, stderr } = spawnSync(process.execPath, [join(copy, "scripts/check-versions.mjs")], {
      encoding: "utf8"
    })
    return { status, lines: stderr.split("\n").filter((line) => line !== "") }
  }

  it("agrees with the tree as it is", () => {
    expect(check()).toEqual({ status: 0, lines: [] })
  })

  it.each([
    [
      "package-lock.json",
      /^ {2}"version": "[^"]*"/mu,
      '  "version": "9.9.9"',
      "package-lock.json, version: found 9.9.9"
    ],
    [
      "package-lock.json",
      /^ {6}"version": "[^"]*"/mu,
      '      "version": "9.9.9"',
      'package-lock.json, packages[""].version: found 9.9.9'
    ],
    [`${chart}/Chart.yaml`, /^version: .*/mu, "version: 9.9.9", `${chart}/Chart.yaml, version: found 9.9.9`],
    [`${chart}/Chart.yaml`, /^appVersion: .*/mu, "appVersion: 9.9.9", `${chart}/Chart.yaml, appVersion: found 9.9.9`],
    [`${chart}/Chart.yaml`, /^appVersion: .*\n/mu, "", `${chart}/Chart.yaml, appVersion: there is none`],
    [
      "Containerfile",
      /image\.version="[^"]*"/u,
      'image.version="9.9.9"',
      "Containerfile: it is not what scripts/image.mjs describes"
    ],
    ["Containerfile", /USER .*/u, "USER 0:0", "Containerfile: it is not what scripts/image.mjs describes"],
    [
      `${chart}/values.yaml`,
      / {2}image: ghcr.*/u,
      "  image: ghcr.io/somebody/else",
      `${chart}/values.yaml, operator.image: found ghcr.io/somebody/else`
    ],
    [
      `${chart}/values.yaml`,
      / {2}imageTag: null/u,
      "  imageTag: latest",
      `${chart}/values.yaml, operator.imageTag: found latest`
    ]
  ])("finds a mismatch in %s (%s)", (file, from, to, sentence) => {
    change(file, from, to)
    expect(check()).toEqual({ status: 1, lines: [expect.stringContaining(sentence)] })
  })

  it("finds what a new version in package.json alone leaves behind, and that one that is none", () => {
    change("package.json", /^ {2}"version": "[^"]*"/mu, '  "version": "9.9"')
    const { lines, status } = check()
    expect(status).toBe(1)
    expect(lines.map((line) => line.split(":")[0])).toEqual([
      "package-lock.json, version",
      'package-lock.json, packages[""].version',
      `${chart}/Chart.yaml, version`,
      `${chart}/Chart.yaml, appVersion`,
      "package.json, version",
      "Containerfile"
    ])
  })
})

import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { describeWith } from "../support/describe-with.ts"
import { runProgram } from "./run-program.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const head = "#!/bin/sh\n# Planted.\n#\n# Exit codes: 0.\n\n"

/** The answer about a tree with these programs alone. */
const checked = async (files: Readonly<Record<string, string>>) => {
  const folder = mkdtempSync(join(tmpdir(), "braid-shell-"))
  try {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), text)
    }
    mkdirSync(join(folder, "scripts"))
    copyFileSync(join(root, "scripts/check-shell.mjs"), join(folder, "scripts/check-shell.mjs"))
    const { status, stderr, stdout } = await runProgram(process.execPath, ["scripts/check-shell.mjs"], { cwd: folder })
    return { status, said: stdout + stderr }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describeWith(["shellcheck"], "the check of programs of shell", () => {
  it.each([
    ["a word that splits", { "src/a/copy.sh": `${head}ls $1\n` }, "src/a/copy.sh:6", "SC2086"],
    ["what the shell of an image may not have", { "lab/a.sh": `${head}[[ -n "$1" ]]\n` }, "lab/a.sh:6", "SC3010"],
    ["CI's own program", { ".ci/run": "#!/usr/bin/env bash\nrm $1\n" }, ".ci/run:2", "SC2086"],
    [
      "a part, with the program that reads it",
      { "src/a/copy.sh": `${head}. "$(dirname "$0")/part.sh"\n`, "src/a/part.sh": `${head}ls $1\n` },
      "part.sh:6",
      "SC2086"
    ],
    ["a long line", { "src/a.sh": `${head}# ${"x".repeat(119)}\n` }, "src/a.sh:6: 121 columns", "120 are allowed"],
    ["no head", { "src/a.awk": "{ print }\n" }, "src/a.awk: begins with no comment", "what it is for"]
  ])("finds %s", async (_what, files, place, finding) => {
    const { said, status } = await checked(files)
    expect(said).toContain(place)
    expect(said).toContain(finding)
    expect(status).toBe(1)
  })

  it("finds nothing in a part whose variables its reader has, and in none", async () => {
    const files = {
      "src/a/copy.sh": `${head}. "$(dirname "$0")/part.sh"\necho "$made"\n`,
      "src/a/part.sh": `${head}made=1\n`
    }
    expect(await checked(files)).toEqual({ status: 0, said: "" })
    expect(await checked({})).toEqual({ status: 0, said: "" })
  })
})

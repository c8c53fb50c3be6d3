import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { makeApt, unfitMachine } from "../../scripts/debian-suite.mjs"

const debian = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_CODENAME=bookworm\nID=debian\n'

it.each([
  ["Debian 12", debian, "x64", undefined],
  ["Debian 12 on another processor", debian, "arm64", "Debian GNU/Linux 12 (bookworm) on arm64"],
  ["a newer Debian", debian.replaceAll("bookworm", "trixie"), "x64", "Debian GNU/Linux 12 (trixie) on x64"],
  ["a system made from Debian", 'ID=ubuntu\nPRETTY_NAME="Ubuntu 24.04 LTS"\n', "x64", "Ubuntu 24.04 LTS on x64"],
  ["a system without this file", undefined, "arm64", `${process.platform} on arm64`]
] as const)("scripts/debian-suite.mjs says what %s is, where it cannot run programs of other suites", (...row) => {
  const [, text, architecture, found] = row
  const folder = mkdtempSync(join(tmpdir(), "braid-debian-suite-"))
  try {
    const release = join(folder, "os-release")
    if (text !== undefined) writeFileSync(release, text)
    expect(unfitMachine(release, architecture)).toBe(found)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const mirrors = "bookworm|main|http://mirror/debian/\nbookworm-security|main|http://mirror/security/\n"

it.each([
  ["no security updates unless they are wanted: sid has none", "sid", {}, ["http://mirror/debian/ sid main"]],
  [
    "them where they are",
    "trixie",
    { architecture: "arm64", hasSecurity: true },
    ["http://mirror/debian/ trixie main", "http://mirror/security/ trixie-security main"]
  ]
] as const)("scripts/debian-suite.mjs asks for %s", async (_, suite, options, wanted) => {
  const folder = mkdtempSync(join(tmpdir(), "braid-debian-suite-"))
  try {
    await makeApt(
      (_what, [command = ""]) => Promise.resolve(command === "apt-get" ? mirrors : ""),
      suite,
      folder,
      options
    )
    const lines = readFileSync(join(folder, "sources.list"), "utf8").trim().split("\n")
    expect(lines.map((line) => line.replace(/^deb \[[^\]]*\] /u, ""))).toEqual(wanted)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

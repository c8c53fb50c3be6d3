import { spawnSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { copyCheckFiles, importsOf } from "./check-files.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const chart = "charts/mirrord-operator"
const fragment = "changelog.d/something.md"
const { version: current } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string
}

/** Ours without git's own variables: inside of a hook they name another repository. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_")))

describe("scripts/release.mjs", () => {
  let copy = ""
  beforeEach(() => {
    copy = realpathSync(mkdtempSync(join(tmpdir(), "braid-release-script-")))
    copyCheckFiles(copy, [...importsOf("scripts/release.mjs")])
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
    write(".gitignore", "node_modules\ndist/\n")
    write("CHANGELOG.md", "# Changelog\n")
    write(fragment, "### Added\n\n- Something.\n")
    write("changelog.d/README.md", "One file per change.\n")
    git("init", "--quiet", "--initial-branch=main")
    commit()
  })
  afterEach(() => {
    rmSync(copy, { recursive: true, force: true })
  })

  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    writeFileSync(join(copy, file), text)
  }
  const git = (...args: ReadonlyArray<string>): string => {
    const identity = [
      "-c",
      "user.name=A",
      "-c",
      "user.email=a@example.com",
      "-c",
      "commit.gpgsign=false",
      "-c",
      "tag.gpgsign=false"
    ]
    const { status, stdout, stderr } = spawnSync("git", [...identity, ...args], { cwd: copy, encoding: "utf8", env })
    if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`)
    return stdout
  }
  const commit = (): void => {
    git("add", "--all")
    git("commit", "--quiet", "--message", "All")
  }
  const run = (args: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(copy, "scripts/release.mjs"), ...args], {
      encoding: "utf8",
      env: { ...env, ...more }
    })
    return { status, stdout, stderr }
  }
  const changed = (): string => git("status", "--porcelain")
  const refused = (args: ReadonlyArray<string>, ...sentences: ReadonlyArray<string>): void => {
    const before = changed()
    const { status, stderr, stdout } = run(args)
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
    expect(stderr.trimEnd().split("\n")).toEqual([
      ...sentences.map((sentence) => expect.stringContaining(sentence) as string),
      "npm run release: nothing was changed"
    ])
    expect(changed()).toBe(before)
  }

  it("writes the version everywhere, folds the changes and says what comes next", () => {
    const { status, stdout, stderr } = run(["99.1.0", "--date", "2026-03-04"])
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    const files = ["CHANGELOG.md", "Containerfile", "package.json", "package-lock.json", `${chart}/Chart.yaml`]
    expect(stdout).toContain(`99.1.0: changed ${[...files, fragment].join(", ")}\n`)
    for (const step of ["git tag v99.1.0", "npm run release\n"]) expect(stdout).toContain(step)
    expect(changed()).toBe(
      [...files, fragment]
        .toSorted()
        .map((file) => ` ${file === fragment ? "D" : "M"} ${file}\n`)
        .join("")
    )
    // Only lines with the version differ, but for the new section.
    const lines = git("diff", "--unified=0", "--", ...files.filter((file) => file !== "CHANGELOG.md"))
      .split("\n")
      .filter((line) => /^[+-](?![+-])/u.test(line))
    expect(lines.filter((line) => !line.includes("99.1.0") && !line.includes(current))).toEqual([])
    expect(readFileSync(join(copy, "CHANGELOG.md"), "utf8")).toBe(
      "# Changelog\n\n## [99.1.0] - 2026-03-04\n\n### Added\n\n- Something.\n"
    )
    expect(readFileSync(join(copy, chart, "Chart.yaml"), "utf8")).toContain("version: 99.1.0\nappVersion: 99.1.0\n")
    expect(spawnSync(process.execPath, [join(copy, "scripts/check-versions.mjs")], { encoding: "utf8" })).toMatchObject(
      { status: 0, stderr: "" }
    )
    // Committed as it says, it is released; once more it is the same.
    commit()
    expect(run(["99.1.0"])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("99.1.0: changed no file\n") as string
    })
    expect(changed()).toBe("")
    git("tag", "v99.1.0")
    refused(["99.1.0"], "the tag v99.1.0 exists")
  })

  it("can release the version that package.json has", () => {
    expect(run([current])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`${current}: changed CHANGELOG.md, ${fragment}\n`) as string
    })
    expect(readFileSync(join(copy, "CHANGELOG.md"), "utf8")).toMatch(
      /^# Changelog\n\n## \[[^\]]+\] - \d{4}-\d{2}-\d{2}\n/u
    )
  })

  it("changes nothing with --dry-run, and looks at everything", () => {
    const { status, stdout } = run(["99.1.0", "--dry-run"])
    expect(status).toBe(0)
    expect(stdout).toContain("would change CHANGELOG.md, Containerfile, package.json")
    expect(stdout).toContain("Nothing was changed.")
    expect(changed()).toBe("")
    rmSync(join(copy, fragment))
    commit()
    refused(["99.1.0", "--dry-run"], "CHANGELOG.md: there is no ## [99.1.0], and changelog.d is empty")
  })

  it.each([["1.2"], ["v99.0.0"], ["99.0.0+7"], ["latest"]])("refuses %s, which is no version", (version) => {
    refused([version], `the version is malformed (found "${version}"); write MAJOR.MINOR.PATCH`)
  })
  it("refuses a lower one", () => {
    refused(["0.0.1"], `the version is lower than that in package.json (found 0.0.1, there is ${current})`)
  })
  it("refuses none, two, an unknown option, and a date that is none", () => {
    for (const [args, sentence] of [
      [["--dry-run"], "--dry-run needs a version"],
      [["1.0.0", "2.0.0"], "found 2.0.0"],
      [["99.0.0", "--dryrun"], "--dryrun"]
    ] as const) {
      const { status, stderr } = run(args)
      expect(status).toBe(1)
      expect(stderr).toContain(sentence)
      expect(stderr).toContain("npm run release -- X.Y.Z")
    }
    refused(["99.0.0", "--date", "2026-13-01"], '--date is no day (found "2026-13-01")')
    refused(["99.0.0", "--date", "2026-02-30"], '--date is no day (found "2026-02-30")')
    expect(changed()).toBe("")
  })
  it("refuses a tree with changes, and names them", () => {
    write("CHANGELOG.md", `${readFileSync(join(copy, "CHANGELOG.md"), "utf8")}- More.\n`)
    write("new.txt", "x")
    refused(["99.0.0"], "the working tree has changes (found CHANGELOG.md, new.txt); commit or remove them")
  })
  it("refuses what is no clone", () => {
    rmSync(join(copy, ".git"), { recursive: true })
    const { status, stderr } = run(["99.0.0"])
    expect(status).toBe(1)
    expect(stderr).toContain("git does not answer")
  })
  it("refuses a tree whose versions differ, and says all that is wrong at once", () => {
    write(
      `${chart}/Chart.yaml`,
      readFileSync(join(copy, chart, "Chart.yaml"), "utf8").replace(/^appVersion: .*/mu, "appVersion: 9.9.9")
    )
    rmSync(join(copy, fragment))
    commit()
    refused(
      ["0.0.1"],
      "the version is lower",
      "appVersion: found 9.9.9",
      "CHANGELOG.md: there is no ## [0.0.1], and changelog.d is empty"
    )
  })
  it("makes no files while changes wait that the notes would lack", () => {
    write("CHANGELOG.md", `# Changelog\n\n## [${current}] - 2026-03-04\n\n### Added\n\n- More.\n`)
    commit()
    const { status, stderr } = run([])
    expect(status).toBe(1)
    expect(stderr).toContain(`changelog.d has changes that ## [${current}] lacks (found ${fragment}); release`)
    rmSync(join(copy, fragment))
    commit()
    // The file that describes the folder is no change.
    expect(run([], { PATH: dirname(process.execPath), KUBEBUILDER_ASSETS: "" }).stderr).not.toContain("changelog.d")
  })
  it("makes no files without a section of the changelog, or where there is no helm", () => {
    const folders = (process.env["PATH"] ?? "").split(delimiter)
    const found = folders.map((folder) => join(folder, "git")).find((file) => existsSync(file)) ?? ""
    const bin = join(copy, "dist")
    mkdirSync(bin)
    symlinkSync(found, join(bin, "git"))
    expect(run([], { PATH: bin, KUBEBUILDER_ASSETS: "" })).toEqual({
      status: 1,
      stdout: "",
      stderr:
        `npm run release: CHANGELOG.md: there is no ## [${current}]; run \`npm run release -- ${current}\` first\n` +
        "npm run release: there is no helm in KUBEBUILDER_ASSETS or PATH; install it, or use the folder that npm run " +
        "kubernetes prints\nnpm run release: nothing was changed\n"
    })
  })
})

import { spawnSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
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
import { describeHelm } from "../charts/describe-helm.ts"
import { copyCheckFiles } from "./check-files.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const chart = "charts/mirrord-operator"
const fragment = "changelog.d/something.md"
const { version: current } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string
}

/** Packages as helm does, as far as names go: the archive is the Chart.yaml alone. */
const standIn = `#!/bin/sh
set -e
test "$1 $3" = "package --destination"
version=$(sed -n 's/^version: //p' "$2/Chart.yaml")
cp "$2/Chart.yaml" "$4/mirrord-operator-$version.tgz"
`

/** Ours without git's own variables: inside of a hook they name another repository. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_")))

describe("scripts/release.mjs", () => {
  let copy = ""
  /** Outside of the tree: the programs, and what is temporary. */
  let beside = ""
  beforeEach(() => {
    copy = realpathSync(mkdtempSync(join(tmpdir(), "braid-release-script-")))
    beside = realpathSync(mkdtempSync(join(tmpdir(), "braid-release-beside-")))
    mkdirSync(join(beside, "tmp"))
    copyCheckFiles(copy, ["scripts/release.mjs"])
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
    write(".gitignore", "node_modules\ndist/\n")
    write("CHANGELOG.md", "# Changelog\n")
    write(fragment, "### Added\n\n- Something.\n")
    write("changelog.d/README.md", "One file per change.\n")
    install(standIn)
    git("init", "--quiet", "--initial-branch=main")
    commit()
  })
  afterEach(() => {
    for (const folder of [copy, beside]) rmSync(folder, { recursive: true, force: true })
  })

  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    writeFileSync(join(copy, file), text)
  }
  const install = (helm: string): void => writeFileSync(join(beside, "helm"), helm, { mode: 0o755 })
  /** A PATH that holds git alone. */
  const onlyGit = (): string => {
    const found =
      (process.env["PATH"] ?? "")
        .split(delimiter)
        .map((folder) => join(folder, "git"))
        .find((file) => existsSync(file)) ?? ""
    mkdirSync(join(beside, "bin"))
    symlinkSync(found, join(beside, "bin", "git"))
    return join(beside, "bin")
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
  const run = (args: ReadonlyArray<string>, assets = beside) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(copy, "scripts/release.mjs"), ...args], {
      encoding: "utf8",
      env: { ...env, KUBEBUILDER_ASSETS: assets, TMPDIR: join(beside, "tmp") }
    })
    // Nothing temporary is left, not even after a failure.
    expect(readdirSync(join(beside, "tmp"))).toEqual([])
    return { status, stdout, stderr }
  }
  /** The state of git and dist/. */
  const state = () => ({
    changed: git("status", "--porcelain"),
    dist: existsSync(join(copy, "dist")) ? readdirSync(join(copy, "dist")) : "none"
  })
  const untouched = { changed: "", dist: "none" }
  const refused = (args: ReadonlyArray<string>, ...sentences: ReadonlyArray<string>): void => {
    const before = state()
    const { status, stderr, stdout } = run(args)
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
    expect(stderr.trimEnd().split("\n")).toEqual([
      ...sentences.map((sentence) => expect.stringContaining(sentence) as string),
      "npm run release: nothing was changed"
    ])
    expect(state()).toEqual(before)
  }

  it("writes the version everywhere, folds the changes, packages the chart and says what comes next", () => {
    const { status, stdout, stderr } = run(["99.1.0", "--date", "2026-03-04"])
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    const changed = ["CHANGELOG.md", "Containerfile", "package.json", "package-lock.json", `${chart}/Chart.yaml`]
    expect(stdout).toContain(
      `99.1.0: changed ${[...changed, fragment].join(", ")}; made dist/mirrord-operator-99.1.0.tgz\n`
    )
    for (const step of [
      "git tag v99.1.0",
      "docker build --file Containerfile --tag ghcr.io/braid-operator/braid:99.1.0 .",
      "helm push dist/mirrord-operator-99.1.0.tgz"
    ]) {
      expect(stdout).toContain(step)
    }
    expect(state()).toEqual({
      changed: [...changed, fragment]
        .toSorted()
        .map((file) => ` ${file === fragment ? "D" : "M"} ${file}\n`)
        .join(""),
      dist: ["mirrord-operator-99.1.0.tgz"]
    })
    // Only lines with the version differ, but for the new section.
    const lines = git("diff", "--unified=0", "--", ...changed.filter((file) => file !== "CHANGELOG.md"))
      .split("\n")
      .filter((line) => /^[+-](?![+-])/u.test(line))
    expect(lines.filter((line) => !line.includes("99.1.0") && !line.includes(current))).toEqual([])
    expect(readFileSync(join(copy, "CHANGELOG.md"), "utf8")).toBe(
      "# Changelog\n\n## [99.1.0] - 2026-03-04\n\n### Added\n\n- Something.\n"
    )
    expect(readFileSync(join(copy, "dist/mirrord-operator-99.1.0.tgz"), "utf8")).toContain(
      "version: 99.1.0\nappVersion: 99.1.0\n"
    )
    expect(spawnSync(process.execPath, [join(copy, "scripts/check-versions.mjs")], { encoding: "utf8" })).toMatchObject(
      { status: 0, stderr: "" }
    )
    // Committed as it says, it is released; once more it is the same.
    commit()
    expect(run(["99.1.0"])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("99.1.0: changed no file; made dist/mirrord-operator-99.1.0.tgz") as string
    })
    expect(state()).toEqual({ changed: "", dist: ["mirrord-operator-99.1.0.tgz"] })
    git("tag", "v99.1.0")
    refused(["99.1.0"], "the tag v99.1.0 exists")
  })

  it("can release the version that package.json has", () => {
    expect(run([current])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`${current}: changed CHANGELOG.md, ${fragment}; made`) as string
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
    expect(state()).toEqual(untouched)
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
      [[], "no version is given"],
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
    expect(state()).toEqual(untouched)
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
  it("refuses where there is no helm", () => {
    const { status, stderr } = spawnSync(process.execPath, [join(copy, "scripts/release.mjs"), "99.0.0"], {
      encoding: "utf8",
      env: { PATH: onlyGit() }
    })
    expect(status).toBe(1)
    expect(stderr).toContain("there is no helm in KUBEBUILDER_ASSETS or PATH")
    expect(state()).toEqual(untouched)
  })
  it("leaves nothing behind when helm fails, or makes something else", () => {
    install("#!/bin/sh\necho 'Error: the chart is broken' >&2\nexit 1\n")
    refused(["99.0.0"], "helm package failed: Error: the chart is broken")
    install("#!/bin/sh\nexit 0\n")
    refused(["99.0.0"], "helm package did not make mirrord-operator-99.0.0.tgz")
  })
  it("puts back what it has written when the package cannot be put into dist/", () => {
    write("dist/mirrord-operator-99.0.0.tgz/in-the-way", "x")
    refused(["99.0.0"], "mirrord-operator-99.0.0.tgz")
  })
  it("makes no dist/ when it is in the way itself", () => {
    write("dist", "a file")
    commit()
    const { status, stderr } = run(["99.0.0"])
    expect(status).toBe(1)
    expect(stderr).toContain("nothing was changed")
    expect(git("status", "--porcelain")).toBe("")
  })

  describeHelm("with the real helm", (helm) => {
    it("packages the whole chart", () => {
      expect(run(["99.1.0"], dirname(helm))).toMatchObject({ status: 0 })
      const shown = spawnSync(helm, ["show", "chart", join(copy, "dist/mirrord-operator-99.1.0.tgz")], {
        encoding: "utf8"
      })
      expect(shown.stdout).toContain("appVersion: 99.1.0")
      const rendered = spawnSync(helm, ["template", "braid", join(copy, "dist/mirrord-operator-99.1.0.tgz")], {
        encoding: "utf8",
        maxBuffer: 1 << 26
      })
      expect(rendered.stdout).toContain('image: "ghcr.io/braid-operator/braid:99.1.0"')
    })
  })
})

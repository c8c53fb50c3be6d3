import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { copyCheckFiles, makePages } from "./check-files.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

describe("scripts/test.mjs", () => {
  let copy = ""
  beforeEach(() => {
    copy = realpathSync(mkdtempSync(join(tmpdir(), "braid-test-script-")))
    copyCheckFiles(copy, ["scripts/test.mjs"])
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
    plant("src/domain/one.ts", "/** Planted. */\n\nexport const one = 1")
    plant("test/fine.test.ts", test('it("is fine", () => expect(1).toBe(1))'))
    plantSuites("", "")
  })
  afterEach(() => rmSync(copy, { recursive: true, force: true }))

  const plant = (file: string, text: string): void => {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    writeFileSync(join(copy, file), `${text}\n`)
  }
  /** Two suites that need a program from outside each, and what of them is missing. */
  const plantSuites = (missing: string, mayLack: string): void => {
    plant(
      "test/suites.ts",
      "export interface Suite { readonly needs: ReadonlyArray<string>; readonly long?: true }\n" +
        'export const suites = { "real/one": { needs: ["mirrord"] }, "real/two": { needs: ["helm"] } }'
    )
    plant(
      "test/support/outside-programs.ts",
      `const missing = "${missing}".split(",")
export interface Unrunnable {
  readonly suite: string
  readonly lacks: ReadonlyArray<string>
  readonly isLong: boolean
}
export const allNeeds: ReadonlyArray<string> = ["mirrord", "helm"]
export const mayLack = (need: string): boolean => need === "${mayLack}"
type Found = { readonly _tag: "Found" } | { readonly _tag: "Missing"; readonly sentence: string }
export const find = (need: string): Found =>
  missing.includes(need) ? { _tag: "Missing", sentence: \`install \${need}\` } : { _tag: "Found" }
export const unrunnable = (): ReadonlyArray<Unrunnable> =>
  [
    { suite: "real/one", lacks: ["mirrord"], isLong: false },
    { suite: "real/two", lacks: ["helm"], isLong: false }
  ].filter(({ lacks }) => lacks.some((need) => missing.includes(need)))`
    )
    for (const name of ["one", "two"])
      plant(`test/real/${name}.test.ts`, test(`it("is real ${name}", () => expect(1).toBe(1))`))
  }
  const test = (body: string): string => `import { expect, it } from "vitest"\n${body}`
  const run = (args: ReadonlyArray<string> = ["--no-check"], ci = "", more: Readonly<Record<string, string>> = {}) => {
    const env = {
      ...process.env,
      CI: ci,
      GITHUB_SHA: "",
      BRAID_TEST_SEED: "",
      ...more,
      PATH: `${join(root, "node_modules", ".bin")}:${process.env["PATH"] ?? ""}`
    }
    const { status, stdout } = spawnSync("node", ["scripts/test.mjs", ...args], { cwd: copy, env, encoding: "utf8" })
    return { status, last: stdout.trimEnd().split("\n").at(-1), stdout }
  }

  it("passes, the check included", () => {
    spawnSync("oxfmt", ["test"], { cwd: copy })
    makePages(copy)
    const { status, last, stdout } = run([])
    expect(stdout).toContain("check: passed")
    expect([last, status]).toEqual(["1 passed, 0 failed, 0 skipped", 0])
  })
  it("counts a failed check, and runs the tests all the same", () => {
    // The real check takes long, and walls.test.ts sees each of its parts fail.
    plant("scripts/check.mjs", "process.exitCode = 1")
    expect(run([])).toMatchObject({ last: "1 passed, 1 failed, 0 skipped", status: 1 })
  })
  it("counts failed tests", () => {
    plant("test/bad.test.ts", test('it("is bad", () => expect(1).toBe(2))\nit("is good", () => expect(1).toBe(1))'))
    expect(run()).toMatchObject({ last: "2 passed, 1 failed, 0 skipped", status: 1 })
  })
  it("counts a file that cannot be loaded as failed", () => {
    plant("test/broken.test.ts", 'throw new Error("no")')
    expect(run()).toMatchObject({ last: "1 passed, 1 failed, 0 skipped", status: 1 })
  })
  it("counts an error outside of the tests as failed", () => {
    plant(
      "test/leak.test.ts",
      test(
        'it("leaks", async () => {\n  void Promise.reject(new Error("lost"))\n  await new Promise((done) => ' +
          "setTimeout(done, 20))\n})"
      )
    )
    expect(run()).toMatchObject({ last: "2 passed, 1 failed, 0 skipped", status: 1 })
  })
  it("lets a test be skipped, but not with CI=true", () => {
    plant("test/skip.test.ts", test('it.skip("later", () => expect(1).toBe(1))'))
    expect(run()).toMatchObject({ last: "1 passed, 0 failed, 1 skipped", status: 0 })
    const ci = run(["--no-check"], "true")
    expect(ci).toMatchObject({ last: "1 passed, 1 failed, 1 skipped", status: 1 })
    expect(ci.stdout).toMatch(/failed: .*skip\.test\.ts > later \(skipped with CI=true\)/)
  })
  it("gives no test a second try", () => {
    plant("test/flaky.test.ts", test('let tries = 0\nit("is flaky", () => expect(++tries).toBe(2))'))
    expect(run(["--no-check"], "true")).toMatchObject({ last: "1 passed, 1 failed, 0 skipped", status: 1 })
  })
  it("says what it found, and runs the suites that need it only if asked to", () => {
    const bare = run()
    expect(bare.stdout).toContain("found here: mirrord, helm\nevery suite of `npm run test:real` can run here\n")
    expect(bare).toMatchObject({ last: "1 passed, 0 failed, 0 skipped", status: 0 })
    const real = run(["--real"], "true")
    expect(real).toMatchObject({ last: "2 passed, 0 failed, 0 skipped", status: 0 })
    expect(real.stdout.trimEnd().split("\n").at(-2)).toBe("every suite ran")
  })
  it("names the suites that did not run, which with CI=true may lack mirrord's own programs alone", () => {
    plantSuites("mirrord", "mirrord")
    for (const ci of ["", "true"]) {
      const { stdout, ...ended } = run(["--real"], ci)
      expect(ended).toEqual({ last: "1 passed, 0 failed, 1 skipped", status: 0 })
      expect(stdout).toContain("missing here: mirrord: install mirrord\n")
      expect(stdout).toContain("cannot run here, of `npm run test:real`: real/one (mirrord)\n")
      expect(stdout.trimEnd().split("\n").at(-2)).toBe("did not run: real/one (mirrord)")
    }
    plantSuites("helm,mirrord", "mirrord")
    expect(run(["--real"])).toMatchObject({ last: "0 passed, 0 failed, 2 skipped", status: 0 })
    const ci = run(["--real"], "true")
    expect(ci).toMatchObject({ last: "0 passed, 1 failed, 2 skipped", status: 1 })
    expect(ci.stdout).toContain("failed: real/two (could not be run for want of helm)")
  })
  it("draws the same cases for every commit, and others with BRAID_TEST_SEED", () => {
    const drawn =
      "const drawn: Array<number> = []\nfc.assert(fc.property(fc.integer(), (n) => void " +
      "drawn.push(n)))\nconsole.log(`drawn ${drawn.join()}`)"
    plant(
      "test/drawn.test.ts",
      `import * as fc from "fast-check"\n${test(`it("draws", () => {\n${drawn}\nexpect(drawn).toHaveLength(100)\n})`)}`
    )
    const draw = (ci: string, more: Readonly<Record<string, string>> = {}) => {
      const { status, stdout } = run(["--no-check", "test/drawn.test.ts"], ci, more)
      expect(status, stdout).toBe(0)
      return /drawn (\S+)/.exec(stdout)?.[1]
    }
    const first = draw("true", { GITHUB_SHA: "aaa" })
    expect(draw("", { GITHUB_SHA: "bbb" })).toBe(first)
    const seven = draw("", { BRAID_TEST_SEED: "7" })
    expect(seven).not.toBe(first)
    expect(draw("true", { BRAID_TEST_SEED: "7" })).toBe(seven)
  })
  it("runs test/long only if asked to, and passes arguments on", () => {
    plant("test/long/slow.test.ts", test('it("is slow", () => expect(1).toBe(1))'))
    expect(run()).toMatchObject({ last: "1 passed, 0 failed, 0 skipped", status: 0 })
    expect(run(["--no-check", "--long"])).toMatchObject({ last: "4 passed, 0 failed, 0 skipped", status: 0 })
    expect(run(["--no-check", "--long", "test/long"])).toMatchObject({
      last: "1 passed, 0 failed, 0 skipped",
      status: 0
    })
  })
  it("fails if there is nothing to run", () => {
    expect(run(["--no-check", "test/none"])).toMatchObject({ last: "0 passed, 1 failed, 0 skipped", status: 1 })
  })
  it("has --help", () => {
    expect(run(["--help"]).stdout).toContain("npm run test:real [-- VITEST ARGUMENT…]")
  })
})

import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { copyCheckFiles } from "./check-files.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

describe("scripts/test.mjs", () => {
  let copy = ""
  beforeEach(() => {
    copy = realpathSync(mkdtempSync(join(tmpdir(), "braid-test-script-")))
    copyCheckFiles(copy, ["scripts/test.mjs"])
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
    plant("src/domain/one.ts", "/** Planted. */\n\nexport const one = 1")
    plant("test/fine.test.ts", test('it("is fine", () => expect(1).toBe(1))'))
  })
  afterEach(() => rmSync(copy, { recursive: true, force: true }))

  const plant = (file: string, text: string): void => {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    writeFileSync(join(copy, file), `${text}\n`)
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
    expect(ci).toMatchObject({ last: "1 passed, 0 failed, 1 skipped", status: 1 })
    expect(ci.stdout).toMatch(/skipped with CI=true: .*skip\.test\.ts > later/)
  })
  it("gives only a test with real programs a second try, only with CI=true, and names it", () => {
    const flaky = test('let tries = 0\nit("is flaky", () => expect(++tries).toBe(2))')
    plant("test/real/flaky.test.ts", flaky)
    expect(run()).toMatchObject({ last: "1 passed, 1 failed, 0 skipped", status: 1 })
    const ci = run(["--no-check"], "true")
    expect(ci).toMatchObject({ last: "2 passed, 0 failed, 0 skipped", status: 0 })
    expect(ci.stdout).toMatch(
      /^passed on the second try: .*test\/real\/flaky\.test\.ts > is flaky\n +AssertionError: expected 1 to be 2/m
    )
    plant("test/kubernetes/broken.test.ts", test('it("is broken", () => expect(1).toBe(2))'))
    expect(run(["--no-check", "test/kubernetes"], "true")).toMatchObject({
      last: "0 passed, 1 failed, 0 skipped",
      status: 1
    })
    const others = ["domain", "adapters", "app", "simulation"].map((folder) => `test/${folder}/flaky.test.ts`)
    for (const file of others) plant(file, flaky)
    expect(run(["--no-check", ...others, "test/fine.test.ts"], "true")).toMatchObject({
      last: "1 passed, 4 failed, 0 skipped",
      status: 1
    })
  })
  it("draws the same cases for the same commit with CI=true, and for the same BRAID_TEST_SEED", () => {
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
    const [first, again, other] = [
      draw("true", { GITHUB_SHA: "aaa" }),
      draw("true", { GITHUB_SHA: "aaa" }),
      draw("true", { GITHUB_SHA: "bbb" })
    ]
    expect(again).toBe(first)
    expect(other).not.toBe(first)
    const seven = { BRAID_TEST_SEED: "7" }
    expect(draw("", seven)).toBe(draw("true", seven))
  })
  it("runs test/long only if asked to, and passes arguments on", () => {
    plant("test/long/slow.test.ts", test('it("is slow", () => expect(1).toBe(1))'))
    expect(run()).toMatchObject({ last: "1 passed, 0 failed, 0 skipped", status: 0 })
    expect(run(["--no-check", "--long"])).toMatchObject({ last: "2 passed, 0 failed, 0 skipped", status: 0 })
    expect(run(["--no-check", "--long", "test/long"])).toMatchObject({
      last: "1 passed, 0 failed, 0 skipped",
      status: 0
    })
  })
  it("fails if there is nothing to run", () => {
    expect(run(["--no-check", "test/none"])).toMatchObject({ last: "0 passed, 1 failed, 0 skipped", status: 1 })
  })
  it("has --help", () => {
    expect(run(["--help"]).stdout).toContain("npm test -- [OPTION…]")
  })
})

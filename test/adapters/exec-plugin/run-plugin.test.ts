import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, beforeAll, describe, expect } from "vitest"
import { runPlugin } from "../../../src/adapters/exec-plugin/run-plugin.ts"
import { execFailureClause } from "../../../src/domain/fleet/credentials/exec-credential.ts"
import { it } from "../../support/effect-it.ts"
import { untilTrue } from "../../support/until-true.ts"

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "plugin-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const script = (name: string, text: string, mode = 0o755): string => {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${text}\n`)
  chmodSync(path, mode)
  return path
}

const run = (command: string, { args = [] as ReadonlyArray<string>, env = {} } = {}) =>
  runPlugin({ command, args, env }, "the info")

const failure = (command: string) =>
  Effect.map(
    Effect.result(run(command)),
    Result.match({ onFailure: execFailureClause, onSuccess: (text) => `it wrote ${text}` })
  )

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe("a plugin", () => {
  it.effect("gets its arguments, its variables, PATH, HOME and the info, and no more", function* () {
    process.env["BRAID_TEST_SECRET"] = "s"
    const path = script("env", 'echo "$1 $REALM $KUBERNETES_EXEC_INFO"; env | cut -d= -f1 | sort | tr "\\n" " "')
    const text = yield* run(path, { args: ["one two"], env: { REALM: Redacted.make("realm") } })
    const [told, variables = ""] = text.split("\n")
    expect(told).toBe("one two realm the info")
    const shells = ["PWD", "SHLVL", "_", "OLDPWD"]
    expect(variables.split(" ").filter((name) => name !== "" && !shells.includes(name))).toEqual(
      ["HOME", "KUBERNETES_EXEC_INFO", "PATH", "REALM"].filter((name) => name !== "HOME" || process.env["HOME"])
    )
    delete process.env["BRAID_TEST_SECRET"]
  })

  it.effect("is found in PATH by its name, and has no input", function* () {
    expect(yield* run("cat")).toBe("")
  })

  it.effect("that fails is told of with the first line that it complains with", function* () {
    expect(yield* failure(script("fails", "echo; echo 'no session' >&2; exit 3"))).toMatch(
      /^it ended with exit code 3 \(no session\)/u
    )
    expect(yield* failure(script("dies", "kill -9 $$"))).toMatch(/^it ended with SIGKILL/u)
  })

  it.effect("that cannot be started is told of", function* () {
    expect(yield* failure(join(folder, "missing"))).toMatch(/^it does not exist/u)
    expect(yield* failure(script("plain", "exit 0", 0o644))).toMatch(/^it is not executable/u)
    expect(yield* failure("/nul\0")).toMatch(/^it cannot be started/u)
  })

  it.effect("that asks for a terminal finds none", function* () {
    expect(yield* failure(script("asks", "read answer < /dev/tty || exit 4"))).toMatch(/^it ended with exit code [24]/u)
  })

  it.effect("that writes without an end is killed", function* () {
    expect(yield* failure(script("floods", "yes"))).toMatch(/^it wrote more than 64 KiB and was killed/u)
    expect(yield* failure(script("complains", "yes >&2"))).toMatch(/^it wrote more than 64 KiB and was killed/u)
  })

  it.effect("that hangs is killed after ten seconds, with all that it has started", function* () {
    const pids = join(folder, "pids")
    const path = script("hangs", `sleep 600 & echo $$ $! > ${pids}.new; mv ${pids}.new ${pids}; wait`)
    const fiber = yield* Effect.forkChild(failure(path))
    yield* Effect.promise(() => untilTrue("it has started", () => existsSync(pids)))
    yield* TestClock.adjust("9 seconds")
    expect(fiber.pollUnsafe()).toBeUndefined()
    const started = readFileSync(pids, "utf8").trim().split(" ").map(Number)
    expect(started.map(isAlive)).toEqual([true, true])
    yield* TestClock.adjust("2 seconds")
    expect(fiber.pollUnsafe()).toMatchObject({ value: expect.stringMatching(/^it had not ended after 10 s/u) })
    yield* Effect.promise(() => untilTrue("all have ended", () => !started.some(isAlive)))
  })
})

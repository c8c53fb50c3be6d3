import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { beforeAll, describe, expect, it } from "vitest"

const cwd = fileURLToPath(new URL("../..", import.meta.url))

/** A script of the project; what it wrote, and its exit code. */
const run = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  promisify(execFile)(process.execPath, args, { cwd, maxBuffer: 1 << 28, env: { ...process.env, ...env } }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stderr, stdout }: { readonly code: unknown; readonly stdout: string; readonly stderr: string }) => ({
      code,
      stdout: `${stdout}\n${stderr}`
    })
  )

/** The folder of the programs, which are built if they are not there yet. */
const programs = async (...flags: ReadonlyArray<string>): Promise<string> => {
  const { code, stdout } = await run(["scripts/kubernetes.mjs", ...flags])
  expect(code, stdout).toBe(0)
  return stdout.trimEnd().split("\n").at(-1) ?? ""
}

const pass = async (tests: string, assets: string): Promise<void> => {
  const { code, stdout } = await run(["scripts/test.mjs", "--real", tests], { KUBEBUILDER_ASSETS: assets })
  expect(code, stdout.slice(-20_000)).toBe(0)
}

describe("Kubernetes 1.34.4", () => {
  let assets = ""
  beforeAll(async () => {
    assets = await programs("--version", "1.34.4")
  })

  it.each(["test/kubernetes", "test/charts"])("%s passes", (folder) => pass(folder, assets))
})

describe("kubectl 1.29.15", () => {
  it("reaches a member that dials out", async () =>
    pass("test/kubernetes/people.test.ts", await programs("--kubectl", "1.29.15")))
})

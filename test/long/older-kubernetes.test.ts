import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { beforeAll, describe, expect, it } from "vitest"

const version = "1.34.4"
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

describe(`Kubernetes ${version}`, () => {
  let assets = ""
  beforeAll(async () => {
    // Built, if it is not there yet.
    const { code, stdout } = await run(["scripts/kubernetes.mjs", "--version", version])
    expect(code, stdout).toBe(0)
    assets = stdout.trimEnd().split("\n").at(-1) ?? ""
  })

  it.each(["test/kubernetes", "test/charts"])("%s passes", async (folder) => {
    const { code, stdout } = await run(["scripts/test.mjs", "--real", folder], { KUBEBUILDER_ASSETS: assets })
    expect(code, stdout.slice(-20_000)).toBe(0)
  })
})

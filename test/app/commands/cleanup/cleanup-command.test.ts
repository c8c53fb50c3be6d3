import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const program = fileURLToPath(new URL("../../../../src/app/braid.ts", import.meta.url))

const run = (args: ReadonlyArray<string>): Promise<{ readonly code: number | null; readonly errors: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, "cleanup", ...args], {
      env: { ...process.env, KUBECONFIG: "/nonexistent/kubeconfig" },
      stdio: ["ignore", "ignore", "pipe"]
    })
    const chunks: Array<Buffer> = []
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk))
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, errors: Buffer.concat(chunks).toString("utf8") }))
  })

it("braid cleanup ends with code 1 and a sentence when there is no cluster", async () => {
  const { code, errors } = await run([])
  expect(code).toBe(1)
  expect(errors).toMatch(
    /^braid: not everything could be cleaned up:\nNo cluster is configured: .*\/nonexistent\/kubeconfig/u
  )
})

it("braid cleanup --best-effort says the same and ends with code 0", async () => {
  const { code, errors } = await run(["--best-effort"])
  expect(code).toBe(0)
  expect(errors).toContain("No cluster is configured")
})

import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../../src/app/braid.ts", import.meta.url))

export interface BraidRun {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Runs `braid` to its end, without the variables by which it would find a cluster of this machine's user. */
export const runBraid = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}): Promise<BraidRun> =>
  new Promise((resolve, reject) => {
    const { KUBECONFIG: _, KUBERNETES_SERVICE_HOST: __, ...others } = process.env
    const child = spawn(process.execPath, [program, ...args], {
      env: { ...others, HOME: "/nonexistent", ...env },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const texts = [child.stdout, child.stderr].map((stream) => {
      const chunks: Array<Buffer> = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      return () => Buffer.concat(chunks).toString("utf8")
    })
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, output: texts[0]?.() ?? "", errors: texts[1]?.() ?? "" }))
  })

/** Runs `npm start` for tests, and finds what it leaves behind. */

import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../../../lab/lab.ts", import.meta.url))
/** The steps of a successful story with at least two members. */
export const story = [
  "clusters",
  "workload",
  "operators",
  "session",
  "env",
  "file",
  "outgoing",
  "incoming",
  "ping",
  "member-lost",
  "member-returned",
  "member-left",
  "member-joined",
  "ended",
  "ready"
]

/** The same where the primary's network has no way to a member that dials out. */
export const apartStory = story.flatMap((step) => (step === "session" ? [step, "unreachable"] : [step]))

export interface Run {
  readonly code: number | null
  readonly lines: ReadonlyArray<{ readonly step: string; readonly ok: boolean } & Readonly<Record<string, unknown>>>
}

/** Runs `npm start -- --json` with further arguments to its end. */
export const play = (args: ReadonlyArray<string>): Promise<Run> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, "playground", "--json", ...args], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    const chunks: Array<Buffer> = []
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk))
    child.once("error", reject)
    child.once("close", (code) => {
      const text = Buffer.concat(chunks).toString("utf8").trim()
      resolve({ code, lines: text.split("\n").map((line) => JSON.parse(line) as Run["lines"][number]) })
    })
  })

/** Working folders of playgrounds. */
export const folders = (): ReadonlyArray<string> =>
  readdirSync(tmpdir()).filter((name) => name.startsWith("braid-playground-"))

/** Operators that still run with a kubeconfig below one of these folders. */
export const operatorsIn = (left: ReadonlyArray<string>): ReadonlyArray<string> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, "utf8")
        return left.some((folder) => environment.includes(folder))
      } catch {
        return false
      }
    })

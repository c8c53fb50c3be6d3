import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const program = fileURLToPath(new URL("../../../src/app/braid.ts", import.meta.url))
const story = ["clusters", "workload", "operators", "session", "env", "file", "outgoing", "incoming", "ping", "member-lost", "member-returned", "ended", "ready"]

interface Run {
  readonly code: number | null
  readonly lines: ReadonlyArray<{ readonly step: string; readonly ok: boolean } & Readonly<Record<string, unknown>>>
}

const play = (args: ReadonlyArray<string>): Promise<Run> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, "playground", "--json", ...args], { stdio: ["ignore", "pipe", "inherit"] })
    const chunks: Array<Buffer> = []
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk))
    child.once("error", reject)
    child.once("close", (code) => {
      const text = Buffer.concat(chunks).toString("utf8").trim()
      resolve({ code, lines: text.split("\n").map((line) => JSON.parse(line) as Run["lines"][number]) })
    })
  })

const folders = (): ReadonlyArray<string> => readdirSync(tmpdir()).filter((name) => name.startsWith("braid-playground-"))

/** Operators that still run with a kubeconfig below one of these folders. */
const operatorsIn = (left: ReadonlyArray<string>): ReadonlyArray<string> =>
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

describe("npm start -- --once --json", () => {
  it.each([
    ["management", "20", ["primary", "cluster-a", "cluster-b"]],
    ["primary-default", "24", ["primary", "cluster-a", "cluster-b"]]
  ])("tells the whole story of topology %s, every step true, and leaves nothing behind", async (topology, subnet, clusters) => {
    const before = new Set(folders())
    const { code, lines } = await play(["--once", "--topology", topology, "--subnet", subnet])
    expect(lines.filter(({ ok }) => !ok)).toEqual([])
    expect(lines.map(({ step }) => step)).toEqual(story)
    expect(code).toBe(0)
    const ready = lines.at(-1)
    expect(ready).toMatchObject({ target: "deployment/myapp", namespace: "default" })
    expect(Object.keys(ready?.["kubeconfig"] as object)).toEqual(clusters)
    expect(Object.keys(ready?.["entry"] as object)).toEqual(["cluster-a", "cluster-b"])
    expect(lines.find(({ step }) => step === "ping")).toMatchObject({ pongs: 3 })
    const mine = Object.values(ready?.["kubeconfig"] as Readonly<Record<string, string>>).map((path) => path.split("/").at(-2) ?? "")
    expect(folders().filter((folder) => !before.has(folder) && mine.includes(folder))).toEqual([])
    expect(operatorsIn(mine)).toEqual([])
  }, 180_000)
})

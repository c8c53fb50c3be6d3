import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { untilTrue } from "../../../support/until-true.ts"

const program = fileURLToPath(new URL("orphans.mjs", import.meta.url))

/** A zombie does not count as alive: it stays in the process table until its parent asks for the exit code. */
const lives = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/su.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

it("processes do not outlive one that was killed, except those that it has let go", async () => {
  const parent = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] })
  const [line] = (await once(createInterface({ input: parent.stdout }), "line")) as [string]
  const [reaped, released] = JSON.parse(line) as [number, number]
  try {
    expect([lives(reaped), lives(released)]).toEqual([true, true])
    parent.kill("SIGKILL")
    await untilTrue("the end of the orphan", () => !lives(reaped))
    expect(lives(released)).toBe(true)
  } finally {
    for (const pid of [reaped, released]) if (lives(pid)) process.kill(pid, "SIGKILL")
  }
})

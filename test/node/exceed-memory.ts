/** Has the kernel end a process of a pod for its memory, as where a container outgrows its limit. */

import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "vitest"
import { until } from "../support/until.ts"

/**
 * Lowers the memory limit of a process' group to what the process uses, until the kernel has ended it for one page
 * more. `ask`: has it do some work.
 */
export const exceedMemory = async (pid: number, ask: () => Promise<unknown>): Promise<void> => {
  const group = /:memory:(.*)$/mu.exec(readFileSync(`/proc/${pid}/cgroup`, "utf8"))?.[1] ?? ""
  const file = (name: string): string => join("/sys/fs/cgroup/memory", group, name)
  // The kernel gives back what can be read again, and refuses to go below the rest, or ends the process already.
  const lower = (bytes: number): void => {
    writeFileSync(file("memory.limit_in_bytes"), String(bytes))
    lower(bytes - 65_536)
  }
  await until(`the end of process ${pid}`, async () => {
    if (!existsSync(`/proc/${pid}`)) return true
    expect(() => lower(Number(readFileSync(file("memory.usage_in_bytes"), "utf8")))).toThrow(/EBUSY|ENOENT|ENODEV/u)
    await Promise.all(Array.from({ length: 64 }, () => ask().catch(() => undefined)))
    return undefined
  })
}

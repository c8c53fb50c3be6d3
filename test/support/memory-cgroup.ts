import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** A group of processes that together may take so much memory, as a container's. */
export interface MemoryCgroup {
  /** The file to which a process writes its id to join. */
  readonly procs: string
  /** How often the kernel has ended a process of the group for want of memory. */
  readonly oomKills: () => number
  /** The most that the group has taken at once, in bytes; since `forgetPeak`, where the kernel lets it be forgotten. */
  readonly peak: () => number
  readonly forgetPeak: () => void
  /** When all processes have ended. */
  readonly remove: () => void
}

const mounted = "/sys/fs/cgroup"
/** Files of the two versions of cgroups. */
const versions = {
  v1: { limit: "memory.limit_in_bytes", swap: "memory.memsw.limit_in_bytes", events: "memory.oom_control" },
  v2: { limit: "memory.max", swap: "memory.swap.max", events: "memory.events" }
} as const
const peaks = { v1: "memory.max_usage_in_bytes", v2: "memory.peak" } as const

/** Our own group below the hierarchy of a controller; its root where that is not to be seen, as in a container. */
const ownFolder = (root: string, controller: string): string => {
  const line = readFileSync("/proc/self/cgroup", "utf8")
    .split("\n")
    .find((text) => text.split(":")[1] === controller)
  const folder = join(root, line?.split(":")[2] ?? "")
  return existsSync(folder) ? folder : root
}

/** The root of v2: in a group with processes, as is our own, there may be no groups with controllers. */
const delegated = (): string => {
  const file = join(mounted, "cgroup.subtree_control")
  if (!readFileSync(file, "utf8").split(/\s/u).includes("memory")) writeFileSync(file, "+memory")
  return mounted
}

/** Makes a group; throws where the machine or the user's rights do not let it. */
export const memoryCgroup = (name: string, bytes: number): MemoryCgroup => {
  const version = existsSync(join(mounted, "cgroup.controllers")) ? "v2" : "v1"
  const files = versions[version]
  const parent = version === "v2" ? delegated() : ownFolder(join(mounted, "memory"), "memory")
  const folder = join(parent, `braid-${process.pid}-${name}`)
  mkdirSync(folder)
  const file = (of: string): string => join(folder, of)
  writeFileSync(file(files.limit), String(bytes))
  // As on most nodes there is no swap. Kernels that do not account for it have no such file.
  if (existsSync(file(files.swap))) writeFileSync(file(files.swap), version === "v2" ? "0" : String(bytes))
  return {
    procs: file("cgroup.procs"),
    oomKills: () => Number(/^oom_kill (\d+)$/mu.exec(readFileSync(file(files.events), "utf8"))?.[1]),
    peak: () => Number(readFileSync(file(peaks[version]), "utf8")),
    forgetPeak: () => {
      if (version === "v1") writeFileSync(file(peaks.v1), "0")
    },
    remove: () => rmdirSync(folder)
  }
}

/** Why no group can be made here, or nothing. */
export const cgroupProblem = (): string | undefined => {
  try {
    memoryCgroup("try", 64 * 1024 * 1024).remove()
    return undefined
  } catch (error) {
    return `no memory cgroup can be made: ${error instanceof Error ? error.message : String(error)}`
  }
}

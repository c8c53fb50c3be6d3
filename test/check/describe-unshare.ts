import { spawnSync } from "node:child_process"
import { describe, it } from "vitest"
import { isCi } from "../support/tested-commit.ts"

const isRoot = process.getuid?.() === 0

/** Mounts of our own: with root's rights, or as the root of a user namespace. */
export const ownMounts: ReadonlyArray<string> = isRoot ? ["--mount"] : ["--user", "--map-root-user", "--mount"]

/**
 * Another user from here on. In a user namespace it is a name for ourselves, which is as good but for who may read our
 * files.
 */
export const asUser = (id: number): ReadonlyArray<string> =>
  isRoot ? [`--setgid=${id}`, `--setuid=${id}`] : ["--user", `--map-user=${id}`, `--map-group=${id}`]

const probe = spawnSync("unshare", [...ownMounts, "true"], { encoding: "utf8" })
const problem =
  probe.status === 0
    ? undefined
    : `unshare cannot make a mount namespace here: ${probe.error?.message ?? probe.stderr.trim()}`

/**
 * Tests in a root file system of their own. Where that cannot be made they are skipped; with `CI=true` one test fails
 * and says why.
 */
export const describeUnshare = (name: string, tests: () => void): void => {
  describe.runIf(problem === undefined)(name, () => {
    tests()
  })
  // No test at all where nothing is wrong: a skipped one would count.
  it.each(problem !== undefined && isCi ? [problem] : [])(`${name}: %s`, (sentence) => {
    throw new Error(sentence)
  })
}

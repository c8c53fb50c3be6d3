import { execFileSync } from "node:child_process"

/** A CI system runs the tests: nothing may be left out, and the same commit must see the same cases again. */
export const isCi: boolean = /^(1|true)$/i.test(process.env["CI"] ?? "")

/** The commit that is tested. */
export const testedCommit = (): string => {
  try {
    return execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()
  } catch {
    // A source archive has no history; CI systems say the commit in one of these.
    return process.env["GITHUB_SHA"] ?? process.env["CI_COMMIT_SHA"] ?? "unknown"
  }
}

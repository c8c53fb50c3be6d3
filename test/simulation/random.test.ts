import { execFileSync } from "node:child_process"
import { describe } from "vitest"
import { testRandomStories } from "./random-stories.ts"

const isCi = /^(1|true)$/i.test(process.env["CI"] ?? "")

/** Each commit sees other stories, and the same ones when it is tested again. */
const commit = (): string => {
  try {
    return execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()
  } catch {
    // A source archive has no history; CI systems say the commit in one of these.
    return process.env["GITHUB_SHA"] ?? process.env["CI_COMMIT_SHA"] ?? "unknown"
  }
}

describe("random stories", () => {
  if (isCi) testRandomStories(`${commit().slice(0, 12)}-`, 2_000)
  else testRandomStories("", 500)
})

/** The messages of commits since version 0.2.0: area first, at most 72 columns, and a body that says why. */

import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
/** The last commit before the rule. A copy without history has no commits that could break it. */
const base = "f5078bc88ef1cdac9ed88ac2269efa798a628cc5"
const maxColumns = 72

const git = (...args: ReadonlyArray<string>): string =>
  spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout ?? ""

/** The mistakes of a message; none if it is good. */
const mistakesOf = (message: string): ReadonlyArray<string> => {
  const [subject = "", blank = "", ...body] = message.trimEnd().split("\n")
  return [
    ...(subject.length > maxColumns ? [`more than ${maxColumns} columns`] : []),
    ...(/^[\w./, -]+: \S/u.test(subject) ? [] : ["no area first"]),
    ...(/^merge branch/iu.test(subject) ? ["a merge that says only which branch"] : []),
    ...(blank === "" && body.some((line) => line.trim() !== "") ? [] : ["no body that says why"])
  ]
}

describe("the messages of commits", () => {
  it("begin with their area, are short, and say why", () => {
    const messages = git("log", "--format=%B%x00", `${base}..HEAD`)
      .split("\0\n")
      .filter((message) => message.trim() !== "")
    const wrong = messages.map((message) => [message.split("\n")[0], mistakesOf(message)] as const)
    expect(wrong.filter(([, mistakes]) => mistakes.length > 0)).toEqual([])
  })
  it.each([
    ["sessions: end with their client\n\nA client that is gone held its port for a minute.\n", 0],
    ["Merge branch 'f1'\n", 3],
    ["sessions: end with their client\n", 1],
    [`sessions: ${"very ".repeat(15)}long\n\nbody\n`, 1]
  ])("%j has %i mistakes", (message, count) => {
    expect(mistakesOf(message)).toHaveLength(count)
  })
})

/**
 * Feeds every regular expression of src the texts that would make it slow, and compares how its time grows with the
 * text. The linter's rule `house/linear` judges the form of an expression; this looks at what it does.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { type Attack, attacksOn, growthProblem } from "../../scripts/regular-expressions.mjs"

const root = fileURLToPath(new URL("../..", import.meta.url))

interface Found {
  readonly file: string
  readonly pattern: string
  readonly flags: string
}

/** Every regular expression of src, as the linter's parser sees it. */
const expressionsOfSrc = (): ReadonlyArray<Found> => {
  const folder = mkdtempSync(join(tmpdir(), "braid-expressions-"))
  try {
    const config = join(folder, "oxlintrc.json")
    const plugin = fileURLToPath(new URL("./support/list-regular-expressions.mjs", import.meta.url))
    writeFileSync(config, JSON.stringify({ jsPlugins: [plugin], rules: { "list/expressions": "error" } }))
    const { stdout } = spawnSync(join(root, "node_modules/.bin/oxlint"), ["-c", config, "--format=json", "src"], {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 1 << 28
    })
    const {
      diagnostics
    }: { readonly diagnostics: ReadonlyArray<{ code?: string; message: string; filename: string }> } =
      JSON.parse(stdout)
    return diagnostics
      .filter(({ code }) => code === "list(expressions)")
      .map(({ filename, message }) => {
        const [pattern, flags]: [string, string] = JSON.parse(message)
        return { file: filename, pattern, flags }
      })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const textOf = ({ after, before, repeated }: Attack, length: number): string =>
  `${before}${repeated.repeat(Math.ceil(length / repeated.length))}${after}`

/** Lengths of the two texts. A time that grows with their square grows 16 times between them, a linear one 4 times. */
const lengths = [6_000, 24_000] as const
const suspicious = 10
/** A suspicion is measured so often, and each length counts by its shortest time. */
const measurements = 3
/** Microseconds below which a time says nothing. */
const noTime = 500

/** The time of this thread alone, µs: the rest of the machine does not count. */
const timeOf = (expression: RegExp, text: string): number => {
  expression.lastIndex = 0
  const { system, user } = process.threadCpuUsage()
  // A global expression goes on behind its matches, as `replaceAll` and `matchAll` do.
  if (expression.global) text.replace(expression, "")
  else expression.test(text)
  const after = process.threadCpuUsage()
  return after.system - system + after.user - user
}

/** Whether an expression's time grows too fast between a short and a long text, each time it is measured. */
const grows = (expression: RegExp, attack: Attack, [short, long]: readonly [number, number]): boolean => {
  const [shortText, longText] = [textOf(attack, short), textOf(attack, long)]
  let [before, after] = [Infinity, Infinity]
  for (let times = 0; times < measurements; times++) {
    before = Math.min(before, timeOf(expression, shortText))
    after = Math.min(after, timeOf(expression, longText))
    if (after <= suspicious * Math.max(noTime, before)) return false
  }
  return true
}

/** The attack under which an expression's time grows too fast. */
const slowAttack = (
  { flags, pattern }: { readonly pattern: string; readonly flags: string },
  between: readonly [number, number] = lengths
): Attack | undefined => {
  const expression = new RegExp(pattern, flags)
  // The first runs of an expression are interpreted.
  for (let run = 0; run < 3; run++) timeOf(expression, "warm")
  return attacksOn(pattern, flags).find((attack) => grows(expression, attack, between))
}

describe("the regular expressions of src", () => {
  const found = expressionsOfSrc()

  it("are found", () => {
    expect(found.length).toBeGreaterThan(50)
    expect(found.map(({ pattern }) => pattern)).toContain("^mc-([0-9a-f]{16})$")
  })

  it.each(found.map((expression) => [`${expression.file}: /${expression.pattern}/`, expression] as const))(
    "%s takes time in proportion to the text",
    (_, expression) => {
      expect(slowAttack(expression)).toBeUndefined()
    }
  )
})

/** Expressions whose time grows with the square of the text, or faster. */
const slow: ReadonlyArray<readonly [pattern: string, flags: string]> = [
  ["[.\\s]+$", "u"],
  ["[-+].*$", ""],
  ["^-+|-+$", "gu"],
  ["-----BEGIN [^-]+-----([\\s\\S]*?)-----END [^-]+-----", ""],
  ["^(.*),(.*),(.*);$", ""],
  ["^\\s*\\s*\\s*$", "u"],
  ["^(?:a*b*)*c$", ""]
]

describe("an expression that is slow", () => {
  it.each(slow)("/%s/%s is found by its form", (pattern, flags) => {
    expect(growthProblem(pattern, flags)).toEqual(expect.any(String))
  })
  // The last would take for ever.
  it.each(slow.slice(0, -1))("/%s/%s is found by its time", (pattern, flags) => {
    expect(
      slowAttack({ pattern, flags }, pattern.startsWith("^(") || pattern.startsWith("^\\s") ? [200, 800] : lengths)
    ).toBeDefined()
  })
})

describe("an expression that is linear", () => {
  const fine: ReadonlyArray<readonly [pattern: string, flags: string]> = [
    ["^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "u"],
    ["\\s+", "gu"],
    [".{1,64}", "g"],
    ["^\\/(?<proxy>proxy\\/)?namespaces\\/(?<namespace>[^/]+)\\/targets\\/(?<target>[^/]+)$", ""],
    ["([a-z-]*)([:)])", "y"],
    ["^(?:\\\\u[0-9a-f]{4}|\\\\\\\\|[^\\\\\\p{Cs}])*", "u"]
  ]
  it.each(fine)("/%s/%s passes both", (pattern, flags) => {
    expect(growthProblem(pattern, flags)).toBeUndefined()
    expect(slowAttack({ pattern, flags })).toBeUndefined()
  })
})

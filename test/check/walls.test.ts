/**
 * Plants one violation of each kind that `npm run check` knows in a copy of the tree, and sees it found: imports
 * through the walls, functions and lines out of bounds, comments, dead exports, programs of shell (for what shellcheck
 * finds in these: check-shell.test.ts). test/docs has the checks of the pages.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { copyCheckFiles, makePages } from "./check-files.ts"
import { runProgram } from "./run-program.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const bin = join(root, "node_modules", ".bin")
const env = { ...process.env, PATH: `${bin}:${process.env["PATH"] ?? ""}` }

/** A copy of what the check reads: its configuration and scripts, the given folders. */
const copyOf = (rooms: ReadonlyArray<string>): string => {
  const copy = realpathSync(mkdtempSync(join(tmpdir(), "braid-walls-")))
  copyCheckFiles(copy)
  for (const room of rooms) cpSync(join(root, room), join(copy, room), { recursive: true })
  mkdirSync(join(copy, "test"), { recursive: true })
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
  return copy
}

const plant = (copy: string, file: string, text: string): void => {
  mkdirSync(dirname(join(copy, file)), { recursive: true })
  writeFileSync(join(copy, file), `${text}\n`)
}

interface Finding {
  readonly code?: string
  readonly message: string
  readonly filename: string
}

/** The rules of the house, as the linter names them. */
const isOurs = (code: string): boolean =>
  /^(?:walls|house)\(/.test(code) ||
  /^(?:import\(no-cycle|eslint\((?:max-lines-per-function|max-params|complexity))\)/.test(code)

/** The linter's findings about the rules of the house, by file. */
const lint = (copy: string): ReadonlyMap<string, string> => {
  const { stdout } = spawnSync("oxlint", ["--format=json", "src", "lab", "scripts"], {
    cwd: copy,
    env,
    encoding: "utf8",
    maxBuffer: 1 << 28
  })
  const { diagnostics }: { readonly diagnostics: ReadonlyArray<Finding> } = JSON.parse(stdout)
  const found = new Map<string, string>()
  for (const { code, message, filename } of diagnostics) {
    if (code === undefined || isOurs(code)) found.set(filename, `${found.get(filename) ?? ""}${message}\n`)
  }
  return found
}

/** File, its content, and what the finding must name. */
const violations: ReadonlyArray<readonly [file: string, text: string, names: string]> = [
  ["src/domain/leadership/imports-ports.ts", 'export { x } from "../../ports/x.ts"', "ports"],
  [
    "src/domain/leadership/imports-adapters.ts",
    'import { x } from "../../adapters/a/x.ts"\nexport const y = x',
    "adapters"
  ],
  ["src/domain/leadership/imports-app.ts", 'import type { X } from "../../app/x.ts"\nexport type Y = X', "app"],
  ["src/domain/leadership/detour.ts", 'export * from "../../domain/../app/x.ts"', "app"],
  ["src/domain/leadership/imports-test.ts", 'export * from "../../../test/x.ts"', "outside of src"],
  ["src/domain/leadership/node-prefix.ts", 'export { readFileSync } from "node:fs"', "node:fs"],
  ["src/domain/leadership/bare-builtin.ts", 'export { join } from "path"', "path"],
  ["src/domain/leadership/bare-subpath.ts", 'import "fs/promises"', "fs/promises"],
  ["src/domain/leadership/type-of-builtin.ts", 'export type Fs = typeof import("node:fs")', "node:fs"],
  ["src/domain/leadership/dynamic.ts", 'export const load = () => import("node:net")', "node:net"],
  [
    "src/domain/leadership/dynamic-unknown.ts",
    "export const load = (name: string) => import(name)",
    "named in a string"
  ],
  ["src/domain/leadership/websocket.ts", 'import { WebSocket } from "ws"\nexport const W = WebSocket', "ws"],
  [
    "src/domain/leadership/kubernetes.ts",
    'import type { V1Pod } from "@kubernetes/client-node"\nexport type P = V1Pod',
    "@kubernetes/client-node"
  ],
  [
    "src/domain/leadership/platform.ts",
    'export * as platform from "@effect/platform-node/NodeRuntime"',
    "@effect/platform-node"
  ],
  [
    "src/domain/leadership/effect-runtime.ts",
    'import { Effect } from "effect"\nexport const e = Effect.void',
    "Effect"
  ],
  ["src/domain/leadership/effect-all.ts", 'import * as E from "effect"\nexport const e = E.pipe', "*"],
  ["src/domain/leadership/effect-clock.ts", 'export * as clock from "effect/Clock"', "effect/Clock"],
  ["src/domain/leadership/date-now.ts", "export const now = () => Date.now()", "Date.now"],
  ["src/domain/leadership/date-now-computed.ts", 'export const now = () => Date["now"]()', "Date.now"],
  ["src/domain/leadership/date-now-taken.ts", "const { now } = Date\nexport const n = now", "Date"],
  ["src/domain/leadership/new-date.ts", "export const now = () => new Date()", "new Date()"],
  ["src/domain/leadership/date-called.ts", "export const now = () => Date()", "Date"],
  ["src/domain/leadership/math-random.ts", "export const dice = () => Math.random()", "Math.random"],
  ["src/domain/leadership/math-random-taken.ts", "const { random } = Math\nexport const r = random", "Math"],
  ["src/domain/leadership/process.ts", "export const e = process.env", "process"],
  ["src/domain/leadership/global-this.ts", "export const e = globalThis.process", "globalThis"],
  ["src/domain/leadership/set-timeout.ts", "export const later = (f: () => void) => setTimeout(f, 1)", "setTimeout"],
  ["src/domain/leadership/set-interval.ts", "export const often = (f: () => void) => setInterval(f, 1)", "setInterval"],
  ["src/domain/leadership/set-immediate.ts", "export const soon = (f: () => void) => setImmediate(f)", "setImmediate"],
  [
    "src/domain/leadership/queue-microtask.ts",
    "export const soon = (f: () => void) => queueMicrotask(f)",
    "queueMicrotask"
  ],
  ["src/domain/leadership/performance.ts", "export const now = () => performance.now()", "performance"],
  ["src/domain/leadership/buffer.ts", 'export const b = Buffer.from("x")', "Buffer"],
  ["src/domain/leadership/import-meta.ts", "export const u = import.meta.url", "import.meta"],
  ["src/ports/imports-adapters.ts", 'export type { X } from "../adapters/a/x.ts"', "adapters"],
  ["src/ports/imports-app.ts", 'export type { X } from "../app/x.ts"', "app"],
  ["src/ports/websocket.ts", 'export type { WebSocket } from "ws"', "ws"],
  ["src/adapters/a/imports-app.ts", 'export { x } from "../../app/x.ts"', "app"],
  ["src/adapters/a/imports-sibling.ts", 'export { x } from "../b/x.ts"', "adapter b"],
  ["src/adapters/stream/imports-sibling.ts", 'export { x } from "../b/x.ts"', "adapter b"],
  ["src/domain/leadership/imports-lab.ts", 'export { x } from "../../../lab/client/x.ts"', "lab/client"],
  ["src/adapters/a/imports-lab.ts", 'export { x } from "../../../lab/memory/x.ts"', "lab/memory"],
  ["src/app/operator/imports-lab.ts", 'export { x } from "../../../lab/agent/x.ts"', "lab/agent"],
  ["src/app/operator/loads-lab.ts", 'export const load = () => import("../../../lab/lab.ts")', "may not import lab"],
  ["src/app/commands/imports-test.ts", 'export * from "../../../test/x.ts"', "outside of src"],
  ["src/app/kernel/imports-capability.ts", 'export { x } from "../fleet/x.ts"', "src/app/fleet"],
  ["src/app/api/imports-leadership.ts", 'export { x } from "../leadership/x.ts"', "src/app/leadership"],
  ["src/app/leadership/imports-operator.ts", 'export type { X } from "../operator/x.ts"', "src/app/operator"],
  [
    "src/app/leadership/imports-sessions.ts",
    'export { x } from "../sessions/primary/x.ts"',
    "src/app/sessions/primary"
  ],
  ["src/app/sessions/imports-primary.ts", 'export { x } from "./primary/x.ts"', "src/app/sessions/primary"],
  ["src/app/sessions/primary/imports-member.ts", 'export { x } from "../member/x.ts"', "src/app/sessions/member"],
  ["src/app/sessions/member/imports-primary.ts", 'export { x } from "../primary/x.ts"', "src/app/sessions/primary"],
  ["src/app/operator/imports-commands.ts", 'export { x } from "../commands/x.ts"', "src/app/commands"],
  ["src/domain/unknown/imports-json.ts", 'export { parseJson } from "../json.ts"', "has no row in mayImport"],
  [
    "src/domain/protocol/imports-targets.ts",
    'export * from "../targets/target.ts"',
    "may not import src/domain/targets"
  ],
  ["src/app/unknown/imports-kernel.ts", 'export { x } from "../kernel/x.ts"', "has no row in mayImport"],
  ["lab/unknown/imports-memory.ts", 'export { x } from "../memory/x.ts"', "has no row in mayImport"],
  [
    "src/domain/leadership/for-development.ts",
    'import Ajv from "ajv"\nexport const x = Ajv',
    "the image has no such package"
  ],
  ["src/adapters/a/for-development.ts", 'export { gte } from "semver"', "the image has no such package"],
  ["lab/client/imports-cluster.ts", 'export { x } from "../cluster/store/x.ts"', "lab/cluster/store"],
  ["lab/cluster/wire/imports-store.ts", 'export { x } from "../store/x.ts"', "lab/cluster/store"],
  ["lab/cluster/network/imports-node.ts", 'export { x } from "../node/x.ts"', "lab/cluster/node"],
  ["lab/simulation/imports-playground.ts", 'export { x } from "../playground/x.ts"', "lab/playground"],
  ["lab/simulation/imports-test.ts", 'export * from "../../test/x.ts"', "outside of lab"]
]

const lines = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join("\n")

/** Beyond the bounds of functions and lines, and comments without a subject or an actor. */
const outOfBounds: ReadonlyArray<readonly [file: string, text: string, names: string]> = [
  ["src/app/kernel/long.ts", `export const f = () => {\n${lines(70, (n) => `  void ${n}`)}\n}`, "too many lines (72)"],
  [
    "src/app/kernel/wide.ts",
    "export const f = (a: 1, b: 2, c: 3, d: 4, e: 5) => [a, b, c, d, e]",
    "Maximum allowed is 4"
  ],
  [
    "src/app/kernel/complex.ts",
    `export const f = (n: number) => {\n${lines(15, (n) => `  if (n === ${n}) return ${n + 1}`)}\n  return 0\n}`,
    "complexity of 16"
  ],
  ["src/domain/leadership/slow-end.ts", "export const x = /[.\\s]+$/u", "may not be linear"],
  ["src/app/kernel/slow-start.ts", "export const x = /a.*b/", "may not be linear"],
  ["src/adapters/a/made.ts", "export const f = (text: string) => new RegExp(text)", "is made of a text"],
  ["src/domain/leadership/long-line.ts", `export const text = "${"x".repeat(100)}"`, "122 columns"],
  ["lab/client/long-line.ts", `// ${"x".repeat(118)}`, "121 columns"],
  ["lab/client/begins-with-what.ts", "/** What a client sends. */\nexport const x = 1", "begins with What"],
  ["lab/client/goes-on-with-who.ts", "// A client connects. Who it is, the log says.", "begins with Who"],
  [
    "lab/client/new-line.ts",
    "/**\n * A client connects.\n * Whose it is, is known.\n */\nexport const x = 1",
    "with Whose"
  ],
  ["lab/client/bullet.ts", "// Some are told:\n// - Whoever asks", "begins with Whoever"],
  ["lab/client/tag.ts", "/** @returns Whatever came */\nexport const x = 1", "begins with Whatever"],
  ["scripts/begins-with-who.mjs", "// Who runs this, needs git.\nexport const x = 1", "begins with Who"],
  ["lab/client/nothing.ts", "/** The end; nothing: there is none. */\nexport const x = 1", "in a comment: write"],
  ["src/app/kernel/told-of.ts", "// A client that is told of it.\nexport const x = 1", "told of"],
  ["src/domain/leadership/nothing-while.ts", "// The lease; nothing while it is free.", "nothing while"],
  [
    "src/app/kernel/somebody.ts",
    "/** Somebody has written it. */\nexport const x = 1",
    '"Somebody" in a comment: name'
  ],
  ["src/ports/nobody.ts", "// It is nobody's.", '"nobody" in a comment'],
  ["lab/client/anybody.ts", "// A port that anybody may use.", '"anybody" in a comment'],
  ["src/adapters/a/that-one.ts", "// A pod of the same name: that one is ours.", '"that one" in a comment']
]

const circle: ReadonlyArray<readonly [file: string, text: string]> = [
  ["src/domain/circle/a.ts", 'import type { B } from "./b.ts"\nexport type A = B'],
  ["src/domain/circle/b.ts", 'import type { A } from "./a.ts"\nexport type B = A']
]

/** Texts that only look like a violation. */
const allowed: ReadonlyArray<readonly [file: string, text: string]> = [
  [
    "src/domain/fine/mentions.ts",
    '// Date.now(), Math.random(), process, import "node:fs"\nexport const text = "new Date() setTimeout process"'
  ],
  [
    "src/domain/fine/given-time.ts",
    'export const at = (ms: number): Date => new Date(ms)\nexport const ms = Date.parse("2026-01-01T00:00:00Z")'
  ],
  [
    "src/domain/fine/own-names.ts",
    "export const f = (process: number, Date: number) => ({ setTimeout: process, now: Date }).setTimeout"
  ],
  ["src/domain/fine/maths.ts", "export const most = Math.max(1, 2)"],
  [
    "src/domain/fine/effect-data.ts",
    'import { Result, Schema } from "effect"\nexport * as option from "effect/Option"\nexport const x = [Result, ' +
      "Schema]"
  ],
  ["src/domain/ports/folder-called-ports.ts", "export const x = 1"],
  ["src/domain/imports-domain.ts", 'export { x } from "./ports/folder-called-ports.ts"'],
  ["src/ports/imports-domain.ts", 'export { x } from "../domain/ports/folder-called-ports.ts"'],
  [
    "src/adapters/a/imports-inwards.ts",
    'export { x } from "../../domain/ports/folder-called-ports.ts"\nexport { y } from "./own.ts"\nexport * as fs ' +
      'from "node:fs"'
  ],
  [
    "src/app/imports-all.ts",
    'export { y } from "../adapters/a/own.ts"\nexport { x } from ' +
      '"../domain/ports/folder-called-ports.ts"\nexport const now = Date.now()'
  ],
  ["src/adapters/a/own.ts", "export const y = 1"],
  ["src/adapters/stream/planted.ts", "export const y = 1"],
  ["src/adapters/a/imports-common.ts", 'export { y } from "../stream/planted.ts"'],
  ["src/app/kernel/imports-inwards.ts", 'export { y } from "../../adapters/a/own.ts"'],
  ["src/app/sessions/primary/imports-shared.ts", 'export { y } from "../../kernel/imports-inwards.ts"'],
  [
    "src/app/kernel/within-bounds.ts",
    "export const f = (a: 1, b: 2, c: 3, d: 4) => {\n" +
      `${lines(67, (n) => `  // Spoken.\n\n  void ${n}`)}\n  return [a, b, c, d]\n}`
  ],
  [
    "lab/client/speaks-well.ts",
    "// A client asks who it is.\n// Is it known? Who knows?\n// The list says\n// What is no beginning here."
  ],
  ["src/app/kernel/quotes.ts", "// Runs as `nobody`: `x` is undefined."],
  ["lab/client/long-pattern.ts", `export const x =\n  /${"x".repeat(130)}/u`],
  ["lab/playground/imports-all.ts", 'export { y } from "../../src/app/sessions/primary/imports-shared.ts"']
]

/** The first comment, which each file of src and lab has. */
const head = "/** Planted. */\n\n"
const headless = ["src/domain/leadership/no-head.ts", "lab/client/late-head.ts"]

describe("the walls", () => {
  let copy = ""
  let found: ReadonlyMap<string, string> = new Map()
  beforeAll(() => {
    copy = copyOf(["src", "lab", "scripts"])
    for (const [file, text] of [...violations, ...outOfBounds, ...circle, ...allowed])
      plant(copy, file, `${head}${text}`)
    plant(copy, "src/domain/leadership/no-head.ts", "export const x = 1")
    plant(copy, "lab/client/late-head.ts", 'export * from "./client.ts"\n/** Says too late what it is for. */')
    found = lint(copy)
  })
  afterAll(() => rmSync(copy, { recursive: true, force: true }))

  it.each(violations)("%s is found and named", (file, _, names) => {
    expect(found.get(file)).toContain(names)
  })
  it.each(outOfBounds)("%s is found and named", (file, _, names) => {
    expect(found.get(file)).toContain(names)
  })
  it.each(allowed)("%s is not", (file) => {
    expect(found.get(file)).toBeUndefined()
  })
  it.each(headless)("find that %s says nothing of what it is for", (file) => {
    expect(found.get(file)).toContain("begins with no comment")
  })
  it("find a circle of imports, even of types alone", () => {
    expect(found.get("src/domain/circle/a.ts")).toContain("cycle")
  })
  it("stand in the tree as it is", () => {
    const planted = new Set([...[...violations, ...outOfBounds, ...circle].map(([file]) => file), ...headless])
    expect([...found].filter(([file]) => !planted.has(file))).toEqual([])
  })
})

interface Fault {
  readonly what: string
  readonly file: string
  readonly text: string
  /** Words that the output must hold. */
  readonly names: ReadonlyArray<string>
  /** The part of the check that finds it. */
  readonly part: string
}

/** Faults that stand in the tree together: each is named, and each part fails, whatever the parts before it find. */
const faults: ReadonlyArray<Fault> = [
  {
    what: "a violation of the walls",
    file: "src/domain/sin.ts",
    text: `${head}export const now = Date.now()`,
    names: ["Date.now"],
    part: "oxlint"
  },
  {
    what: "an `any`",
    file: "src/domain/any.ts",
    text: `${head}export const x = (y: any): number => y.z`,
    names: ["no-explicit-any"],
    part: "oxlint"
  },
  {
    what: "a wrong type",
    file: "src/domain/wrong-type.ts",
    text: `${head}export const x: number = "1"`,
    names: ["src/domain/wrong-type.ts"],
    part: "tsc"
  },
  {
    what: "a wrong type in a script",
    file: "scripts/wrong-type.mjs",
    text: '// @ts-check\n/** @type {number} */\nexport const x = "1"',
    names: ["scripts/wrong-type.mjs"],
    part: "tsc"
  },
  {
    what: "another format",
    file: "src/domain/format.ts",
    text: `${head}export const x = 1;`,
    names: ["src/domain/format.ts"],
    part: "oxfmt"
  },
  {
    what: "an effect that nobody runs",
    file: "src/app/effect.ts",
    text: `${head}import { Effect } from "effect"\nexport const f = () => {\n  Effect.succeed(1)\n}`,
    names: ["floatingEffect"],
    part: "tsc"
  },
  {
    what: "a program of shell that says nothing of what it is for",
    file: "src/adapters/engines/planted/serve.sh",
    text: "#!/bin/sh\ntrue",
    names: ["src/adapters/engines/planted/serve.sh: begins with no comment"],
    part: "shell"
  },
  {
    what: "exports that nothing uses",
    file: "src/app/parts/some.ts",
    text:
      `${head}export interface Used {\n  readonly inner: OfUsed\n}\nexport interface OfUsed {}\n` +
      "export interface DeadType {}\nexport const used: Used = { inner: {} }\n" +
      "export const ownUse = 1\nexport const deadValue = ownUse",
    names: ["DeadType", "ownUse", "deadValue"],
    part: "knip"
  },
  {
    what: "a file that nothing uses",
    file: "src/app/parts/dead-file.ts",
    text: `${head}export const x = 1`,
    names: ["dead-file.ts"],
    part: "knip"
  }
]

/** Files that a program writes, with a change by hand. */
const changedByHand: ReadonlyArray<readonly [file: string, from: RegExp, to: string, names: string, part: string]> = [
  ["crds/mirrordpolicies.yaml", /$/u, "\n", "crds/mirrordpolicies.yaml", "crds"],
  ["charts/mirrord-operator/values.schema.json", /$/u, "\n", "charts/mirrord-operator/values.schema.json", "chart"],
  ["docs/reference/events.md", /$/u, "\n", "docs/reference/events.md", "reference"],
  ["test/conformance/router.json", /"yes"/u, '"no"', "docs/reference/conformance.md", "reference"],
  ["CONTRIBUTING.md", /\| `src\/ports` \| /u, "| `src/ports` | all ", "CONTRIBUTING.md", "rooms"],
  [
    "charts/mirrord-operator/Chart.yaml",
    /^appVersion: .*/mu,
    "appVersion: 9.9.9",
    "appVersion: found 9.9.9",
    "versions"
  ]
]

describe("npm run check", () => {
  let copy = ""
  let clean: Awaited<ReturnType<typeof runProgram>>
  let faulty: Awaited<ReturnType<typeof runProgram>>
  beforeAll(async () => {
    copy = copyOf(["src/domain/protocol"])
    makePages(copy)
    const check = () => runProgram("npm", ["run", "check"], { cwd: copy, env })
    clean = await check()
    for (const { file, text } of faults) plant(copy, file, text)
    plant(
      copy,
      "src/app/program.ts",
      `${head}import { used, type Used } from "./parts/some.ts"\nexport const program: Used = used`
    )
    for (const [file, from, to] of changedByHand)
      writeFileSync(join(copy, file), readFileSync(join(copy, file), "utf8").replace(from, to))
    faulty = await check()
  })
  afterAll(() => rmSync(copy, { recursive: true, force: true }))

  it("passes a clean tree", () => {
    expect(clean.stdout + clean.stderr).toContain("check: passed")
    expect(clean.status).toBe(0)
  })

  const failed = (): string => /^check: (.*) failed$/mu.exec(faulty.stdout)?.[1] ?? ""

  it.each(faults)("fails on $what", ({ names, part }) => {
    for (const name of names) {
      expect(clean.stdout + clean.stderr).not.toContain(name)
      expect(faulty.stdout + faulty.stderr).toContain(name)
    }
    expect(failed().split(", ")).toContain(part)
  })

  it.each(changedByHand)("fails on a change by hand of %s", (_file, _from, _to, names, part) => {
    expect(clean.stdout + clean.stderr).not.toContain(names)
    expect(faulty.stdout + faulty.stderr).toContain(names)
    expect(failed().split(", ")).toContain(part)
  })

  it("finds nothing in what is used by what is used", () => {
    expect(faulty.stdout + faulty.stderr).not.toContain("OfUsed")
  })

  it("runs every part, says how to put right what each found, and fails", () => {
    expect(failed()).toBe("tsc, oxlint, knip, oxfmt, shell, versions, crds, chart, reference, rooms")
    for (const part of failed().split(", "))
      expect(faulty.stdout).toMatch(new RegExp(`^${part} found something\\. To put it right, .*\\.$`, "mu"))
    expect(faulty.status).not.toBe(0)
  })

  it("has --help", () => {
    expect(execFileSync("node", [join(copy, "scripts/check.mjs"), "--help"], { env, encoding: "utf8" })).toContain(
      "npm run check"
    )
  })
})

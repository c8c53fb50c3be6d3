import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const tests = fileURLToPath(new URL("..", import.meta.url))

/** What makes a test depend on how fast the machine is, and what to write instead. */
const impatient: ReadonlyArray<readonly [what: RegExp, instead: string]> = [
  [/\bset(?:Timeout|Interval|Immediate)\(|\btimers\/promises\b/u, "wait for what is to happen, with test/support/until.ts; for nothing to happen, with turns.ts"],
  [/\bexpect\.poll\b|\bvi\.waitFor\b|\bvi\.waitUntil\b/u, "these give up after a second: wait with test/support/until.ts"],
  [/\bDate\.now\(\)|\bperformance\.now\(\)|\bprocess\.hrtime\b/u, "assert no time that passes: let virtual time pass (test/support/effect-it.ts) or wait for what happens"],
  [/\bTestClock\.layer\(\)/u, "it goes on after a real second, whatever has happened: take virtualTime from test/support/effect-it.ts"],
  [/\bit\b.*\bfrom "@effect\/vitest"[^]*\bit\.effect\b/u, "its clock goes on after a real second, whatever has happened: take `it` from test/support/effect-it.ts"]
]

/** Where that is as it should be, and why. */
const allowed: Readonly<Record<string, string>> = {
  "adapters/embedded/aggregation.test.ts": "a backend that says its second line later",
  "adapters/embedded/kubelet/child.mjs": "a process that stays",
  "adapters/embedded/kubelet/orphans.mjs": "processes that stay",
  "adapters/embedded/kubelet/test-cluster.ts": "the clock of a cluster",
  "adapters/websocket/member-link.test.ts": "a server that breaks off, and one that never stops sending",
  "app/doctor/doctor-suite.ts": "how old certificates are",
  "charts/rights-suffice.test.ts": "from when on an audit log is read",
  "check/test-script.test.ts": "a planted test",
  "check/walls.test.ts": "planted violations",
  "kubernetes/control-plane.ts": "when a token ends",
  "kubernetes/described-sessions.ts": "a wait of its own, as long as its test",
  "kubernetes/doctor.test.ts": "when certificates end",
  "real/client-cases.ts": "a connection on which nothing comes",
  "real/failover.test.ts": "from when on an audit log is read",
  "real/harness.ts": "how long a command of the client took",
  "support/changed-api-server.ts": "when certificates end",
  "support/effect-it.ts": "the helper",
  "support/turns.ts": "the helper",
  "support/until.ts": "the helper"
}

const files = readdirSync(tests, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.(?:ts|mjs)$/u.test(file) && !file.startsWith("bench/"))
  .toSorted()

describe("tests wait for what is to happen, and not for a time", () => {
  const found = files.flatMap((file) => {
    const text = readFileSync(join(tests, file), "utf8")
    return impatient.flatMap(([what, instead]) => (what.test(text) ? [{ file, told: `test/${file}: ${String(what.exec(text)?.[0].slice(0, 40))}: ${instead}` }] : []))
  })

  it("everywhere but where it is said why not", () => {
    expect(found.filter(({ file }) => allowed[file] === undefined).map(({ told }) => told)).toEqual([])
  })

  it("and nothing is allowed that is not there", () => {
    expect(Object.keys(allowed).filter((file) => !found.some((one) => one.file === file))).toEqual([])
  })
})

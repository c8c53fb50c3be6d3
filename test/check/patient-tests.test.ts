import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const tests = fileURLToPath(new URL("..", import.meta.url))

type Habit = "sleep" | "timer" | "impatient helper" | "clock" | "bound of its own" | "hasty virtual time"

/** Habits that make a test depend on how fast the machine is, and what to write instead. */
const habits: Readonly<
  Record<Habit, { readonly found: (text: string) => string | undefined; readonly instead: string }>
> = {
  sleep: {
    found: (text) =>
      /\bnew Promise\b[^]{0,80}?\bset(?:Timeout|Immediate)\(|\btimers\/promises\b/u.exec(text)?.[0] ??
      // Where time is virtual, a sleep costs none and is as long as it says.
      (/\b(?:effect-it|virtual-time|kernel|sim-process)\.ts"|\bsimulation\/kernel\/|\bTestClock\.layer\b/u.test(text)
        ? undefined
        : /\bEffect\.(?:sleep|delay)\(/u.exec(text)?.[0]),
    instead: "wait for what is to happen, with test/support/until.ts; for nothing to happen, with turns.ts"
  },
  timer: {
    found: (text) => /\bset(?:Timeout|Interval|Immediate)\(/u.exec(text)?.[0],
    instead: "let what happens start what follows; wait for it with test/support/until.ts"
  },
  "impatient helper": {
    found: (text) => /\bexpect\.poll\b|\bvi\.waitFor\b|\bvi\.waitUntil\b/u.exec(text)?.[0],
    instead: "these give up after a second: wait with test/support/until.ts"
  },
  clock: {
    found: (text) => /\bDate\.now\(\)|\bperformance\.now\(\)|\bprocess\.hrtime\b/u.exec(text)?.[0],
    instead: "assert no time that passes: let virtual time pass (test/support/effect-it.ts) or wait for what happens"
  },
  "bound of its own": {
    found: (text) =>
      (/\btimeout: [\d_]{4,}|^\s*\}, [\d_]{5,}\)/mu.exec(text) ??
        /\bAbortSignal\.timeout\(|\.setTimeout\(|\bEffect\.timeout(?:OrElse)?\(/u.exec(text))?.[0],
    instead: "the bounds of test/support/until.ts and vitest.config.ts end what hangs, and are enough"
  },
  "hasty virtual time": {
    found: (text) =>
      (/\bTestClock\.layer\(\)/u.exec(text) ??
        /\bit\b.*\bfrom "@effect\/vitest"(?=[^]*\bit\.effect\b)/u.exec(text))?.[0],
    instead:
      "its clock goes on after a real second, whatever has happened: take `it` of test/support/effect-it.ts, or " +
      "virtualTime of test/support/virtual-time.ts"
  }
}
const named = Object.keys(habits) as ReadonlyArray<Habit>

/** Where that is as it should be, and why. */
const allowed: Readonly<Record<string, Partial<Readonly<Record<Habit, string>>>>> = {
  "adapters/agents/agent-channel.test.ts": { "bound of its own": "the operator's own, as the chart gives it" },
  "lab/simulation/report/browser.ts": { "bound of its own": "playwright's own is half a minute" },
  "adapters/files/configuration-files.test.ts": {
    sleep: "files are read while virtual time passes",
    timer: "files are read while virtual time passes"
  },
  "adapters/websocket/autobahn.test.ts": { sleep: "a turn of the event loop", timer: "a turn of the event loop" },
  "adapters/websocket/member-link.test.ts": { timer: "a server that breaks off, and one that never stops sending" },
  "support/memory-tunnels.ts": { sleep: "how long a dial takes, in virtual time" },
  "support/tunnels.ts": { clock: "certificates that are valid now" },
  "adapters/x509/tunnel-certificates.test.ts": { clock: "certificates that are valid now" },
  "adapters/tunnel/tunnel-dialler.test.ts": { clock: "certificates that are valid now" },
  "adapters/tunnel/cell-listener.test.ts": { clock: "certificates that are valid now" },
  "adapters/x509/serving-certificate.test.ts": { clock: "a certificate that is valid now" },
  "app/commands/doctor/doctor-suite.ts": { clock: "how old certificates are" },
  "app/commands/overview/usage-playground.test.ts": { clock: "how soon a session is on the page, which is printed" },
  "app/commands/ui/pages-in-browser.ts": { clock: "how long the first paint took, which is printed" },
  "docs/screenshots.ts": { clock: "days of the use that a picture shows" },
  "app/commands/logs/logs-command.test.ts": { clock: "from when on a server is asked for lines" },
  "app/metrics/exposition.test.ts": { clock: "how long a scrape took, which is printed" },
  "app/certificates/own-certificate-suite.ts": { clock: "when certificates end" },
  "bench/memory.ts": { sleep: "between looks at memory, and until a start's leftovers are gone" },
  "bench/memory/stolen-requests.ts": { sleep: "between two requests" },
  "bench/queues.ts": { sleep: "a millisecond between looks at what is timed" },
  "bench/tunnel/cell-of-many.ts": { sleep: "between looks at members that dial" },
  "bench/tunnel/lanes.ts": { sleep: "between two beats, and between the reads of a slow reader" },
  "bench/tunnel/programs.ts": { sleep: "between looks at a program that starts" },
  "bench/relay/product.ts": { sleep: "between collections of garbage" },
  "bench/relay/relays.ts": { sleep: "between looks whether a relay listens" },
  "bench/session.ts": { sleep: "a millisecond between looks at what is timed" },
  "bench/sessions.ts": { sleep: "between two echoes, and until a start's leftovers are gone" },
  "charts/attacks.ts": { sleep: "attacks that send turn by turn", timer: "how fast an attack sends" },
  "charts/limits-hold.test.ts": { sleep: "between pings", clock: "how long answers took, which is printed" },
  "charts/rights-suffice.test.ts": { clock: "from when on an audit log is read" },
  "check/test-script.test.ts": { sleep: "a planted test", timer: "a planted test" },
  "check/walls.test.ts": { timer: "planted violations", clock: "planted violations" },
  "kubernetes/control-plane.ts": { clock: "when a token ends" },
  "kubernetes/outbound-networks.test.ts": { clock: "how long a loss took, which is printed" },
  "kubernetes/member-away.test.ts": { sleep: "the three minutes that a test is about" },
  "adapters/azure/aks-tokens.test.ts": { clock: "when tokens end" },
  "support/entra-stand-in.ts": { clock: "the clock of Microsoft Entra, by which tokens end" },
  "kubernetes/eks.test.ts": { clock: "the clock of AWS, by which tokens end" },
  "lab/cluster/node/child.mjs": { timer: "a process that stays" },
  "lab/cluster/node/orphans.mjs": { timer: "processes that stay" },
  "lab/cluster/node/test-cluster.ts": { clock: "the clock of a cluster" },
  "lab/fuzz/attack.test.ts": { sleep: "an input that outlasts its time", timer: "an input that outlasts its time" },
  "node/application-program.ts": { timer: "a process that stays" },
  "real/changing-fleet.ts": { clock: "from when on an audit log is read" },
  "real/client-behaviour.test.ts": { sleep: "the two minutes that a test is about", timer: "the same" },
  "real/client-certificates.test.ts": { clock: "when certificates end" },
  "real/failover.test.ts": { clock: "from when on an audit log is read" },
  "real/harness.ts": {
    clock: "from when on an API server starts again",
    timer: "turns of the event loop in which the pipes of an ended command are read"
  },
  "real/served-session.ts": { sleep: "between two requests under way", timer: "the same" },
  "support/agent-tls.ts": { clock: "a certificate that is valid now" },
  "support/attempts.ts": { "bound of its own": "attempts that may hang for ever, each longer" },
  "support/changed-api-server.ts": { clock: "when certificates end" },
  "support/effect-it.ts": { "hasty virtual time": "the helper" },
  "support/turns.ts": { timer: "the helper" },
  "support/until.ts": { sleep: "the helper", clock: "the helper" },
  "support/virtual-clock.ts": { timer: "turns of the event loop between two wake-ups" }
}

/** A benchmark measures time and lets some pass on purpose, but waits for what is to happen as any test does. */
const ofBenchmarks: ReadonlySet<Habit> = new Set(["sleep", "impatient helper"])

const concerns = (habit: Habit, file: string): boolean => !file.startsWith("bench/") || ofBenchmarks.has(habit)

const files = readdirSync(tests, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.(?:ts|mjs)$/u.test(file))
  .toSorted()

describe("tests wait for what is to happen, and not for a time", () => {
  const seen = files.flatMap((file) => {
    const text = readFileSync(join(tests, file), "utf8")
    return named.flatMap((habit) => {
      const found = concerns(habit, file) ? habits[habit].found(text) : undefined
      return found === undefined
        ? []
        : [{ file, habit, told: `test/${file}: ${found.replace(/\s+/gu, " ").slice(-60)}: ${habits[habit].instead}` }]
    })
  })

  it("everywhere but where it is said why not", () => {
    expect(seen.filter(({ file, habit }) => allowed[file]?.[habit] === undefined).map(({ told }) => told)).toEqual([])
  })

  it("and nothing is allowed that is not there", () => {
    const listed = Object.entries(allowed).flatMap(([file, of]) => Object.keys(of).map((habit) => `${file}: ${habit}`))
    expect(listed.filter((one) => !seen.some(({ file, habit }) => one === `${file}: ${habit}`))).toEqual([])
  })
})

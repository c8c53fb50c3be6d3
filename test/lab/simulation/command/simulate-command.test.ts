/** The command `simulate` as a whole: exit codes, failures, traces. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { gunzipSync } from "node:zlib"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { randomStory } from "../../../../lab/simulation/story/random-story.ts"
import { simulate, simulateHere } from "./run-simulate.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(`${tmpdir()}/simulate-`)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (name: string, ...lines: ReadonlyArray<string>): string => {
  writeFileSync(`${folder}/${name}`, `${lines.join("\n")}\n`)
  return name
}
const read = (name: string): string => readFileSync(`${folder}/${name}`, "utf8")
const json = (lines: ReadonlyArray<string>) =>
  lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)

/** Random stories that are quick. */
const small = { clusters: "1", sessions: "1" }

/** A story that surely fails, because its session does not end. */
const wrong = ["cluster a default", "cluster b", "session s1", "tick 5s", "request a", "tick 3s", "expect s1 ended"]
/** The shrunk story. Without the tick the session would not serve yet, which is another failure. */
const shortest = ["cluster a default", "session s1", expect.stringMatching(/^tick [1-4]\d*m?s$/), "expect s1 ended"]
const right = ["cluster a default", "session s1", "tick 5s", "expect s1 serving"]

describe("npm run simulate", () => {
  it("gives the same output and the same trace, however many workers there are, and for one story alone", async () => {
    const withWorkers = (workers: string) =>
      simulateHere({ ...small, seed: "5", stories: "2", workers, trace: `${folder}/${workers}.jsonl` })
    const [one, two] = [await withWorkers("1"), await withWorkers("2")]
    expect(two.out).toBe(one.out)
    expect(two.code).toBe(one.code)
    expect(one.lines.at(-1)).toBe("2 passed, 0 failed")
    const [firstTrace, secondTrace] = [read("1.jsonl"), read("2.jsonl")]
    expect(firstTrace === secondTrace).toBe(true)
    const headings = firstTrace.split("\n").filter((line) => line.startsWith('{"_tag":"Story"'))
    expect(json(headings).map(({ lines, number, seed }) => [number, seed, lines])).toEqual(
      [1, 2].map((i) => [i, `5/${i}`, randomStory(`5/${i}`, { clusters: 1, sessions: 1, minutes: 5 }).lines])
    )
    expect(readdirSync(folder).filter((name) => name.includes(".parts-"))).toEqual([])

    const { code, lines } = await simulateHere({ ...small, story: "5/1", trace: `${folder}/one.jsonl` })
    expect(firstTrace.startsWith(read("one.jsonl"))).toBe(true)
    expect([code, lines.at(-1)]).toEqual([0, "1 passed, 0 failed"])
    // Its transcript is shown although it passed.
    expect(lines.some((line) => line.startsWith("session s1"))).toBe(true)
  })

  it("writes JSON lines only, one per story in their order, and the counts last", async () => {
    const trace = `${folder}/t.jsonl.gz`
    const { err, lines } = await simulateHere({ ...small, seed: "1", stories: "2", json: true, trace })
    expect(err).toBe("")
    const values = json(lines)
    expect(values.slice(0, -1).map(({ seed, story }) => [story, seed])).toEqual([
      [1, "1/1"],
      [2, "1/2"]
    ])
    expect(values.at(-1)).toMatchObject({ passed: 2, failed: 0 })
    const events = gunzipSync(readFileSync(trace)).toString("utf8").trimEnd().split("\n")
    expect(json(events).filter(({ _tag }) => _tag === "Story")).toHaveLength(2)
  })

  it("shows a scenario's transcript and ends with 0", async () => {
    const { code, lines } = await simulateHere({ scenario: `${folder}/${write("right.txt", ...right)}` })
    expect(lines).toContain("expect s1 serving")
    expect(lines.some((line) => line.endsWith("s1 connected"))).toBe(true)
    expect(lines.at(-1)).toBe("1 passed, 0 failed")
    expect(code).toBe(0)
  })

  it("shrinks a story that fails, shows what broke, and writes it down so that it can be replayed", async () => {
    const file = write("wrong.txt", "# seed: abc", ...wrong)
    const { code, lines, out } = await simulate(folder, ["--scenario", file])
    expect(code).toBe(1)
    expect(lines.at(-1)).toBe("0 passed, 1 failed")
    expect(out).toMatch(/^✗ scenario wrong\.txt: expect: What the story expects holds\.$/m)
    expect(out).toMatch(/the story \(seed abc, shrunk from 8 lines to 4\)/)
    expect(out).toMatch(/^ {4}cluster a default$/m)
    expect(out).toMatch(/BROKEN expect: /)
    const [, saved = ""] = /replay: npm run simulate -- --scenario (\S+)/.exec(out) ?? []
    expect(saved).toMatch(/^simulation-failures\//)
    const story = read(saved).split("\n")
    expect(story).toContain("# seed: abc")
    expect(story.filter((line) => line !== "" && !line.startsWith("#"))).toEqual(shortest)
    // The whole transcript comes first.
    expect(out.indexOf("request a")).toBeLessThan(out.indexOf("✗ scenario"))
    const replayed = await simulate(folder, ["--scenario", saved, "--json"])
    expect(replayed.code).toBe(1)
    const [failure, last] = json(replayed.lines)
    expect(failure).toMatchObject({ story: 1, ok: false, seed: "abc", violation: { id: "expect" }, lines: shortest })
    expect(failure?.["replay"]).toBe(`npm run simulate -- --scenario ${String(failure?.["file"])}`)
    expect(last).toMatchObject({ passed: 0, failed: 1 })
  })

  it("does not take another broken expectation for a shorter form of the first one", async () => {
    const file = write(
      "cut.txt",
      "cluster a default",
      "cluster b",
      "session s1",
      "steal s1 80",
      "tick 5s",
      "cut primary b",
      "request b → s1"
    )
    const { out } = await simulate(folder, ["--scenario", file])
    // Without a session the workload would answer, which is another failure.
    expect(out).toMatch(/✗ scenario cut\.txt: expect: [^✗]*should be answered by s1, but: not answered/)
    expect(read("simulation-failures/expect-scenario-cut.txt.txt")).toMatch(/^session s1$/m)
  })

  it("sweeps over every call of a story, and replays one run of the sweep", async () => {
    const file = write("short.txt", "cluster a default primary", "tick 1s")
    const { lines } = await simulateHere({ sweep: `${folder}/${file}`, json: true })
    const values = json(lines)
    const runs = values.slice(0, -1)
    expect(runs.length).toBeGreaterThan(50)
    expect(new Set(runs.map(({ name }) => name)).size).toBe(runs.length)
    const crash = runs.find(({ name }) => String(name).endsWith("crash before"))
    expect(crash).toMatchObject({ faults: { "call crash before": 1 } })
    const saved = write(
      "one.txt",
      `# sweep: ${String(crash?.["name"]).replace(/^.*short\.txt, /, "")}`,
      ...read(file).trimEnd().split("\n")
    )
    const { out } = await simulateHere({ scenario: `${folder}/${saved}` })
    expect(out).toMatch(/operator a crashed/)
  })

  it("goes on for ever until Ctrl-C, with new seeds, and then sums up", async () => {
    const { code, lines } = await simulate(
      folder,
      ["--forever", "--seed", "8", "--stories", "2", "--clusters", "1", "--sessions", "1", "--json"],
      /"seed":"9\/1"/
    )
    const values = json(lines)
    expect(values.slice(0, 3).map(({ seed, story }) => [story, seed])).toEqual([
      [1, "8/1"],
      [2, "8/2"],
      [3, "9/1"]
    ])
    const last = values.at(-1)
    expect(Number(last?.["passed"]) + Number(last?.["failed"])).toBe(values.length - 1)
    expect(code).toBe(last?.["failed"] === 0 ? 0 : 1)
  })

  it("is no success if Ctrl-C ends a run that had an end", async () => {
    const { code, lines } = await simulate(
      folder,
      ["--stories", "100000", "--clusters", "1", "--sessions", "1", "--json"],
      /"story":1/
    )
    expect(json(lines).at(-1)).toHaveProperty("passed")
    expect(code).toBe(130)
  })

  it.each([
    [{ stories: "0" }, 'simulate: --stories: "0" is not a whole number from 1 to 1000000000\n'],
    [{ scenario: "no-such" }, 'simulate: there is no scenario and no file "no-such"'],
    [{ stories: "1", trace: "no/such/folder.jsonl" }, "simulate: --trace: no/such/folder.jsonl cannot be written"],
    [{ stories: "1", report: "no/such/folder.html" }, "simulate: --report: no/such/folder.html cannot be written"]
  ])("refuses %j", async (given, message) => {
    const { code, err } = await simulateHere(given)
    expect(err).toContain(message)
    expect(code).toBe(1)
  })

  it("refuses a scenario with mistakes: line, verb, nearest verb", async () => {
    const scenario = `${folder}/${write("bad.txt", "cluster a default", "sesion s1")}`
    const { code, err, out } = await simulateHere({ scenario })
    expect(err).toBe(`simulate: ${scenario}: line 2: there is no verb "sesion"; the nearest is session\n`)
    expect([code, out]).toEqual([1, ""])
  })
})

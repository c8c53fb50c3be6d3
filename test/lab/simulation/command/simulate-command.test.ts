/** The command `simulate` as a whole, in processes: exit codes, failures, traces, reports. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { gunzipSync } from "node:zlib"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { randomStory, usualRandomStory } from "../../../../lab/simulation/story/random-story.ts"
import { simulate } from "./run-simulate.ts"

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

/** A story that surely fails, because its session does not end. */
const wrong = ["cluster a default", "cluster b", "session s1", "tick 5s", "request a", "tick 3s", "expect s1 ended"]
/** The shrunk story. Without the tick the session would not serve yet, which is another failure. */
const shortest = ["cluster a default", "session s1", expect.stringMatching(/^tick [1-4]\d*m?s$/), "expect s1 ended"]
const right = ["cluster a default", "session s1", "tick 5s", "expect s1 serving"]

describe("npm run simulate", () => {
  it("gives the same output and the same trace, however many workers there are", async () => {
    const withWorkers = (workers: string) =>
      simulate(folder, ["--seed", "5", "--stories", "12", "--workers", workers, "--trace", `${workers}.jsonl`])
    const [one, two] = [await withWorkers("1"), await withWorkers("2")]
    expect(two.out).toBe(one.out)
    expect(two.code).toBe(one.code)
    expect(one.lines.at(-1)).toMatch(/^\d+ passed, \d+ failed$/)
    const [firstTrace, secondTrace] = [read("1.jsonl"), read("2.jsonl")]
    expect(firstTrace === secondTrace).toBe(true)
    const headings = firstTrace.split("\n").filter((line) => line.startsWith('{"_tag":"Story"'))
    expect(json(headings).map(({ number, seed }) => [number, seed])).toEqual(
      Array.from({ length: 12 }, (_, i) => [i + 1, `5/${i + 1}`])
    )
    expect(readdirSync(folder).filter((name) => name.includes(".parts-"))).toEqual([])
  })

  it("draws other stories from another seed", async () => {
    const traceOf = async (seed: string) => {
      await simulate(folder, ["--seed", seed, "--stories", "1", "--trace", `${seed}.jsonl`])
      return read(`${seed}.jsonl`)
    }
    expect((await traceOf("1")) === (await traceOf("2"))).toBe(false)
  })

  it("plays one story of a series by its own seed, byte for byte", async () => {
    await simulate(folder, ["--seed", "5", "--stories", "1", "--trace", "series.jsonl"])
    const { code, lines } = await simulate(folder, ["--story", "5/1", "--trace", "one.jsonl"])
    expect(read("one.jsonl") === read("series.jsonl")).toBe(true)
    expect([code, lines.at(-1)]).toEqual([0, "1 passed, 0 failed"])
    // Its transcript is shown although it passed.
    expect(lines.some((line) => line.startsWith("session s1"))).toBe(true)
  })

  it("plays a story of the tests, whose seed is no part of a series", async () => {
    const seed = "0123456789ab-17"
    await simulate(folder, ["--story", seed, "--trace", "one.jsonl"])
    const [heading = ""] = read("one.jsonl").split("\n")
    expect(json([heading])[0]).toMatchObject({ seed, lines: randomStory(seed, usualRandomStory).lines })
  })

  it("writes JSON lines only, one per story in their order, and the counts last", async () => {
    const { err, lines } = await simulate(folder, ["--seed", "1", "--stories", "5", "--json", "--trace", "t.jsonl.gz"])
    expect(err).toBe("")
    const values = json(lines)
    expect(values.slice(0, -1).map(({ seed, story }) => [story, seed])).toEqual(
      [1, 2, 3, 4, 5].map((i) => [i, `1/${i}`])
    )
    const last = values.at(-1)
    expect(Number(last?.["passed"]) + Number(last?.["failed"])).toBe(5)
    const trace = gunzipSync(readFileSync(`${folder}/t.jsonl.gz`))
      .toString("utf8")
      .trimEnd()
      .split("\n")
    expect(json(trace).filter(({ _tag }) => _tag === "Story")).toHaveLength(5)
  })

  it("shows a scenario's transcript and ends with 0", async () => {
    const file = write("right.txt", ...right)
    const { code, lines } = await simulate(folder, ["--scenario", file])
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
    const replayed = await simulate(folder, ["--scenario", saved])
    expect(replayed.out).toMatch(/BROKEN expect: /)
    expect(replayed.code).toBe(1)
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

  it("tells a failure in JSON", async () => {
    const { code, lines } = await simulate(folder, ["--scenario", write("wrong.txt", ...wrong), "--json"])
    expect(code).toBe(1)
    const [failure, last] = json(lines)
    expect(failure).toMatchObject({ story: 1, ok: false, seed: "1", violation: { id: "expect" }, lines: shortest })
    expect(failure?.["replay"]).toBe(`npm run simulate -- --scenario ${String(failure?.["file"])}`)
    expect(last).toMatchObject({ passed: 0, failed: 1 })
  })

  it("sweeps over every call of a story, and replays one run of the sweep", async () => {
    const file = write("short.txt", "cluster a default primary", "tick 1s")
    const { lines } = await simulate(folder, ["--sweep", file, "--json"])
    const values = json(lines)
    const runs = values.slice(0, -1)
    expect(runs.length).toBeGreaterThan(50)
    expect(new Set(runs.map(({ name }) => name)).size).toBe(runs.length)
    const crash = runs.find(({ name }) => String(name).endsWith("crash before"))
    expect(crash).toMatchObject({ faults: { "call crash before": 1 } })
    const saved = write(
      "one.txt",
      `# sweep: ${String(crash?.["name"]).replace("scenario short.txt, ", "")}`,
      ...read(file).trimEnd().split("\n")
    )
    const { out } = await simulate(folder, ["--scenario", saved])
    expect(out).toMatch(/operator a crashed/)
  })

  it("goes on for ever until Ctrl-C, with new seeds, and then sums up", async () => {
    const { code, lines } = await simulate(
      folder,
      ["--forever", "--seed", "8", "--stories", "2", "--json"],
      /"seed":"10\/1"/
    )
    const values = json(lines)
    expect(values.slice(0, 5).map(({ seed, story }) => [story, seed])).toEqual([
      [1, "8/1"],
      [2, "8/2"],
      [3, "9/1"],
      [4, "9/2"],
      [5, "10/1"]
    ])
    const last = values.at(-1)
    expect(Number(last?.["passed"]) + Number(last?.["failed"])).toBe(values.length - 1)
    expect(code).toBe(last?.["failed"] === 0 ? 0 : 1)
  })

  it("is no success if Ctrl-C ends a run that had an end", async () => {
    const { code, lines } = await simulate(folder, ["--stories", "100000", "--json"], /"story":2/)
    expect(json(lines).at(-1)).toHaveProperty("passed")
    expect(code).toBe(130)
  })

  it.each([
    [["--stories", "0"], 'simulate: --stories: "0" is not a whole number from 1 to 1000000000\n'],
    [["--scenario", "no-such"], 'simulate: there is no scenario and no file "no-such"'],
    [
      ["--stories", "1", "--trace", "no/such/folder.jsonl"],
      "simulate: --trace: no/such/folder.jsonl cannot be written"
    ],
    [
      ["--stories", "1", "--report", "no/such/folder.html"],
      "simulate: --report: no/such/folder.html cannot be written"
    ],
    [["--bogus"], "Unrecognized flag: --bogus"]
  ])("refuses %j", async (args, message) => {
    const { code, err } = await simulate(folder, args)
    expect(err).toContain(message)
    expect(code).toBe(1)
  })

  it("refuses a scenario with mistakes: line, verb, nearest verb", async () => {
    const { code, err, out } = await simulate(folder, [
      "--scenario",
      write("bad.txt", "cluster a default", "sesion s1")
    ])
    expect(err).toBe('simulate: bad.txt: line 2: there is no verb "sesion"; the nearest is session\n')
    expect([code, out]).toEqual([1, ""])
  })
})

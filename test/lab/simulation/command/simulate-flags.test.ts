/** The flags of `simulate`: values, defaults, and the sentences about mistakes. */

import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { readOptions } from "../../../../lab/simulation/command/simulate-flags.ts"
import { type Given, givenFlags } from "./given-flags.ts"

const read = (given: Given) => readOptions(givenFlags(given), 2)
const defaultSize = { clusters: 3, sessions: 3, minutes: 5 }
const random = { _tag: "Random", seed: undefined, stories: 100, forever: false, size: defaultSize }

describe("the options of simulate", () => {
  it.each<[Given, object]>([
    [{}, { subject: random, workers: 2, trace: undefined, report: undefined, json: false }],
    [
      { seed: "7", stories: "2000", json: true },
      { subject: { ...random, seed: "7", stories: 2000 }, json: true }
    ],
    [
      { seed: "3f9a1c", workers: "1" },
      { subject: { ...random, seed: "3f9a1c" }, workers: 1 }
    ],
    [
      { clusters: "1", sessions: "10", hours: "0.5" },
      { subject: { ...random, size: { clusters: 1, sessions: 10, minutes: 30 } } }
    ],
    [{ forever: true }, { subject: { ...random, forever: true } }],
    [{ scenario: "rfc-example", seed: "9" }, { subject: { _tag: "Scenario", scenario: "rfc-example", seed: "9" } }],
    [
      { story: "0123456789ab-17", clusters: "2", report: "a.html" },
      { subject: { _tag: "Story", seed: "0123456789ab-17", size: { ...defaultSize, clusters: 2 } }, report: "a.html" }
    ],
    [{ sweep: "rfc-example" }, { subject: { _tag: "Sweep", scenario: "rfc-example", seed: undefined } }],
    [
      { scenario: "rfc-example", report: "a.html", trace: "a.jsonl.gz" },
      { report: "a.html", trace: "a.jsonl.gz" }
    ],
    [{ stories: "1", report: "a.html" }, { report: "a.html" }]
  ])("%j is read", (given, wanted) => {
    expect(Result.getOrThrow(read(given))).toMatchObject(wanted)
  })

  it.each<[Given, string]>([
    [{ stories: "0" }, '--stories: "0" is not a whole number from 1 to 1000000000'],
    [{ stories: "ten" }, '--stories: "ten" is not a whole number from 1 to 1000000000'],
    [{ stories: "1.5" }, '--stories: "1.5" is not a whole number from 1 to 1000000000'],
    [{ clusters: "27" }, '--clusters: "27" is not a whole number from 1 to 26'],
    [{ sessions: "-1" }, '--sessions: "-1" is not a whole number from 1 to 1000'],
    [{ workers: "" }, '--workers: "" is not a whole number from 1 to 1024'],
    [{ hours: "0" }, '--hours: "0" is not a number above 0 and at most 10000, such as 0.5'],
    [{ hours: "2h" }, '--hours: "2h" is not a number above 0 and at most 10000, such as 0.5'],
    [{ seed: "" }, "--seed: the value is empty: give a number or a text"],
    [{ seed: "a b" }, '--seed: "a b" has white space, which a story\'s file cannot hold: leave it out'],
    [{ story: " " }, "--story: the value is empty: give the seed of one story, such as 1/7"],
    [{ story: "1 7" }, '--story: "1 7" has white space, which a story\'s file cannot hold: leave it out'],
    [{ story: "1/7", seed: "1" }, "--seed: leave it out with --story, whose seed says all"],
    [{ story: "1/7", stories: "1" }, "--stories: leave it out with --story, whose seed says all"],
    [{ story: "1/7", scenario: "a" }, "--scenario: leave it out with --story, whose seed says all"],
    [{ story: "1/7", forever: true }, "--forever: leave it out with --story, whose seed says all"],
    [{ trace: " " }, "--trace: the value is empty: give a file's name"],
    [{ scenario: "a", sweep: "b" }, "--sweep runs a scenario many times: give --scenario or --sweep, not both"],
    [
      { scenario: "a", stories: "5" },
      "--stories is for random stories: leave it out with --scenario, whose file says all"
    ],
    [{ sweep: "a", clusters: "5" }, "--clusters is for random stories: leave it out with --sweep, whose file says all"],
    [
      { scenario: "a", sessions: "5" },
      "--sessions is for random stories: leave it out with --scenario, whose file says all"
    ],
    [{ scenario: "a", hours: "5" }, "--hours is for random stories: leave it out with --scenario, whose file says all"],
    [{ sweep: "a", forever: true }, "--forever is for random stories: leave it out with --sweep"],
    [{ report: "a.html" }, "--report shows one story: add --scenario NAME, --story SEED or --stories 1"],
    [
      { stories: "1", forever: true, report: "a.html" },
      "--report shows one story: add --scenario NAME, --story SEED or --stories 1"
    ],
    [{ scenario: "a", report: "a.txt" }, '--report: "a.txt" is no page: end the name in .html']
  ])("%j is refused", (given, mistake) => {
    expect(Result.getOrThrow(Result.flip(read(given)))).toEqual([mistake])
  })

  it("tells all mistakes at once", () => {
    expect(Result.getOrThrow(Result.flip(read({ stories: "x", workers: "x", report: "x" })))).toHaveLength(4)
  })
})

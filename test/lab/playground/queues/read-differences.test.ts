import { expect, it } from "vitest"
import { readDifferences } from "../../../../lab/playground/queues/read-differences.ts"

const wanted = new Map([
  ["session", ["a/1", "b/1"]],
  ["a", ["a/2", "a/3", "a/4", "a/5", "a/6"]]
])

it.each<readonly [string, Readonly<Record<string, ReadonlyArray<string>>>, ReadonlyArray<string>]>([
  ["nothing, in any order", { session: ["b/1", "a/1"], a: ["a/6", "a/5", "a/4", "a/3", "a/2"] }, []],
  [
    "what was read by another, twice, or not at all",
    { session: ["a/2", "a/1", "b/1"], a: ["a/3", "a/3", "a/4", "a/5", "a/6", "a/6", "a/6"] },
    ["session has of others 1 (a/2)", "a lacks 1 (a/2), has more than once 3 (a/3, a/6, a/6)"]
  ],
  ["a reader of nothing", { session: ["b/1", "a/1"] }, ["a lacks 5 (a/2, a/3, a/4, …)"]]
])("tells %s", (_what, read, told) => {
  expect(readDifferences(wanted, new Map(Object.entries(read)))).toEqual(told)
})

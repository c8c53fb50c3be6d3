import { expect, it } from "vitest"
import { type ReadDifferences, readDifferences } from "../../../../lab/playground/queues/read-differences.ts"

const wanted = new Map([
  ["session", ["a/1", "b/1"]],
  ["a", ["a/2", "a/3", "a/4", "a/5", "a/6"]]
])

it.each<readonly [string, Readonly<Record<string, ReadonlyArray<string>>>, ReadDifferences]>([
  [
    "nothing, in any order",
    { session: ["b/1", "a/1"], a: ["a/6", "a/5", "a/4", "a/3", "a/2"] },
    { own: { session: 2, a: 5 }, lacking: 0, again: 0, strange: [] }
  ],
  [
    "what was read by another, again, or not at all",
    { session: ["a/2", "a/1", "b/1"], a: ["a/3", "a/3", "a/4", "a/5", "a/6", "a/6", "b/1"] },
    { own: { session: 2, a: 4 }, lacking: 1, again: 3, strange: ["session has of others 1 (a/2)"] }
  ],
  [
    "the first three of many",
    { session: ["b/1", "a/1", "c/1", "c/2", "c/3", "c/4"] },
    { own: { session: 2, a: 0 }, lacking: 5, again: 0, strange: ["session has of others 4 (c/1, c/2, c/3, …)"] }
  ]
])("tells %s", (_what, read, told) => {
  expect(readDifferences(wanted, new Map(Object.entries(read)))).toEqual(told)
})

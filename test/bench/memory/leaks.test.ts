import { expect, it } from "vitest"
import { leaks, least } from "./leaks.ts"
import type { Left } from "./operators.ts"

const left = (sockets: number, timers: number, holdings: Left["holdings"] = {}): Left => ({
  rss: 0,
  heapUsed: 0,
  external: 0,
  timers,
  sockets,
  holdings
})

it("nothing is left where no more is held than before", () => {
  expect(leaks({ before: left(6, 3, { "watched agents": 1 }), after: left(6, 2, { "watched agents": 1 }) })).toEqual([])
})

it("names each kind of which more is held, sockets and timers among them", () => {
  const after = left(7, 4, { "mapped ids": 3, "watched agents": 1 })
  expect(leaks({ before: left(6, 3, { "watched agents": 1 }), after })).toEqual([
    "mapped ids: 3, before 0",
    "sockets: 7, before 6",
    "timers: 4, before 3"
  ])
})

it("the least of two looks is of each kind by itself", () => {
  expect(least(left(6, 4), left(7, 3))).toEqual(left(6, 3))
})

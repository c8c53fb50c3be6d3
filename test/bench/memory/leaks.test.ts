import { expect, it } from "vitest"
import { leaks } from "./leaks.ts"
import type { Left } from "./operators.ts"

const left = (sockets: number, holdings: Left["holdings"] = {}): Left => ({
  rss: 0,
  heapUsed: 0,
  external: 0,
  timers: 0,
  sockets,
  holdings
})

it("nothing is left where as much is held as before, and sockets come and go", () => {
  expect(leaks({ before: left(6, { "watched agents": 1 }), after: left(15, { "watched agents": 1 }) }, 20)).toEqual([])
})

it("names each kind of which more is held, and sockets of every second session", () => {
  const after = left(16, { "mapped ids": 3, "watched agents": 1 })
  expect(leaks({ before: left(6, { "watched agents": 1 }), after }, 20)).toEqual([
    "mapped ids: 3, before 0",
    "sockets: 16, before 6"
  ])
})

import { expect, it } from "vitest"
import { growth, leftovers, type Vitals } from "../../../lab/fuzz/vitals.ts"

const base: Vitals = { holdings: { sockets: 2 }, memory: 60e6, sockets: 10, hostile: 0 }

it("an operator is back when it holds no more than before, and no hostile connection", () => {
  expect(leftovers(base, base)).toEqual([])
  expect(leftovers(base, { ...base, holdings: {}, memory: 900e6 })).toEqual([])
  expect(leftovers(base, { ...base, holdings: { sockets: 3, locks: 1 }, hostile: 4 })).toEqual([
    "sockets: 3, before 2",
    "locks: 1, before 0",
    "connections that the fuzzer has closed: 4"
  ])
})

it("an operator that keeps memory or sockets has grown", () => {
  expect(growth(base, { ...base, memory: base.memory + 1e6, sockets: 12 })).toEqual([])
  expect(growth(base, { ...base, memory: base.memory + 100e6, sockets: 100 })).toEqual([
    "memory: 153 MiB, before 57 MiB",
    "sockets: 100, before 10"
  ])
})

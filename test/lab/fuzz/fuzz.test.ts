import { Effect } from "effect"
import { expect, it } from "vitest"
import { findingText, runArena } from "../../../lab/fuzz/fuzz-command.ts"
import { fuzz } from "../../../lab/fuzz/fuzz.ts"
import { surfaces } from "../../../lab/fuzz/surfaces.ts"
import { subnetOf } from "../../address-plan.ts"

it("operators bear hostile input from all sides, with live sessions beside it", async () => {
  // Always the same inputs: new ones are for `npm run fuzz`, where a rare failure holds up nobody.
  const seed = 1
  const rounds = { count: 1, inputs: 5 }
  const result = await Effect.runPromise(
    runArena(
      subnetOf("fuzz"),
      () => {},
      (arena, live) => fuzz(arena, live, { seed, seconds: 0, rounds, surface: undefined, path: undefined }, () => {})
    )
  )
  expect(result.failure === undefined ? [] : findingText(result.failure)).toEqual([])
  // An attacker that never gets as far as the operator tests nothing.
  for (const { name } of surfaces) expect([...(result.tallies.get(name)?.keys() ?? [])], name).not.toEqual([])
  for (const name of ["client", "single", "primary", "member", "agent"])
    expect([...(result.tallies.get(name)?.keys() ?? [])], name).toContain("connected")
})

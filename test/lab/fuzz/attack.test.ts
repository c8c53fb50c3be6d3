import * as fc from "fast-check"
import { expect, it } from "vitest"
import { attack, type Place } from "../../../lab/fuzz/attack.ts"
import { Tally } from "../../../lab/fuzz/surfaces.ts"

// Nothing here looks at the arena.
const place = {} as unknown as Place

/** The finding of a second with an input that is answered with `answer` half a second later. */
const findingOf = async (answer: string | undefined, path?: string) => {
  const run = async (): Promise<string | undefined> =>
    new Promise((resolve) => void setTimeout(() => resolve(answer), 1_500))
  const surface = { name: "slow", lanes: 1, attack: fc.constant({ run, show: () => "the input" }) }
  return attack(place, { seed: 1, surface }, new Tally(), { ms: 1_000, ...(path === undefined ? {} : { path }) })
}

it.each([
  ["the input that runs when time is up is judged", undefined, "0"],
  ["its failure is replayed", "0", "0"]
] as const)("%s", async (_, path, at) => {
  const { failure, inputs } = await findingOf("first line\nsecond line", path)
  expect(inputs).toBe(0)
  const problems = ["first line", "second line"]
  expect(failure).toEqual({ surface: "slow", seed: 1, path: at, problems, input: "the input" })
})

it("such an input that is answered well is no finding", async () => {
  expect(await findingOf(undefined)).toEqual({ inputs: 0, failure: undefined })
})

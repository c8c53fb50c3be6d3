/** The bounds of functions hold in all of `src` and `lab`: no file is excused from them. */

import { readFileSync } from "node:fs"
import { expect, it } from "vitest"

interface Override {
  readonly files: ReadonlyArray<string>
  readonly rules: Readonly<Record<string, unknown>>
}

const { overrides }: { readonly overrides: ReadonlyArray<Override> } = JSON.parse(
  readFileSync(new URL("../../.oxlintrc.json", import.meta.url), "utf8")
)
const bounds = ["max-lines-per-function", "max-params", "complexity"]

it("no file of src and lab is excused from the bounds of functions", () => {
  const bounding = overrides.filter(({ rules }) => bounds.some((rule) => rule in rules))
  expect(bounding.map(({ files }) => files)).toEqual([["src/**", "lab/**"]])
  for (const rule of bounds) expect(bounding[0]?.rules[rule], rule).toEqual(["error", expect.anything()])
})

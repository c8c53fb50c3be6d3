import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { CurrentSettings, settingCards } from "../../../src/app/kernel/setting-values.ts"

const entries = Object.values(settingCards).flatMap((card) => Object.entries(card))
const twice = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts.filter((text, at) => texts.indexOf(text) < at)

describe("the cards of settings", () => {
  it("have each name, variable and value of the chart once", () => {
    expect(twice(entries.map(([name]) => name))).toEqual([])
    expect(twice(entries.map(([, { variable }]) => variable))).toEqual([])
    expect(twice(entries.flatMap(([, { value }]) => value ?? []))).toEqual([])
  })

  it("give their defaults where no environment is read", () => {
    const settings = Effect.runSync(Effect.service(CurrentSettings))
    expect(settings).toMatchObject({ address: "[::]:443", makesCopies: true, leaseDuration: 15_000, providers: [] })
    expect(settings.agentPort).toBeUndefined()
  })
})

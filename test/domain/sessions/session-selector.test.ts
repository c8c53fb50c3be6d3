import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { selectedKey } from "../../../src/domain/sessions/session-selector.ts"

describe("the field selector of sessions", () => {
  it("selects the key that the client means, whatever characters it has", () => {
    fc.assert(
      fc.property(fc.string(), (key) => {
        const escaped = key.replaceAll(/[\\,=]/gu, String.raw`\$&`)
        expect(selectedKey(`spec.session.key=${escaped}`)).toEqual(Result.succeed(key))
      })
    )
  })

  it.each([null, ""])("selects all without one: %j", (selector) =>
    expect(selectedKey(selector)).toEqual(Result.succeed(undefined))
  )

  it("understands the other sign of equality", () =>
    expect(selectedKey("spec.session.key==a")).toEqual(Result.succeed("a")))

  it.each([
    "metadata.name=a",
    "spec.session.key!=a",
    "spec.session.key=a,spec.session.user=b",
    "spec.session.key",
    "a"
  ])("refuses what it does not know: %s", (selector) => {
    expect(selectedKey(selector)).toEqual(
      Result.fail(`The field selector is "${selector}"; sessions are selected by spec.session.key=KEY alone.`)
    )
  })
})

import { Effect } from "effect"
import { describe, expect } from "vitest"
import { makeConfigurationSource } from "../../../src/app/fleet/configuration-source.ts"
import { followConfiguration } from "../../../src/app/fleet/follow-configuration.ts"
import { ChangingFiles, documentsOf } from "../../support/changing-files.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf } from "../../support/fleet.ts"
import { pass } from "../sessions/session-fleet.ts"

describe("a fleet that follows its configuration", () => {
  it.effect("is brought to it after a failure too, and follows the next change", function* () {
    const files = new ChangingFiles(documentsOf(["a"]))
    const made = configurationOf(["a"])
    const joined: Array<string> = []
    let failures = 1
    const fleet = {
      clusters: new Map(),
      checked: Effect.void,
      join: ({ name }: { readonly name: string }) =>
        Effect.suspend(() => (failures-- > 0 ? Effect.die("a defect") : Effect.sync(() => joined.push(name)))),
      leave: () => Effect.void,
      reportOf: () => undefined,
      reauthenticate: () => Effect.void
    }
    const source = yield* makeConfigurationSource(files, made)
    yield* followConfiguration({ fleet, made, events: { changed: () => {}, record: () => {} } }, source)
    files.write(documentsOf(["a", "b"]))
    yield* pass(6)
    expect(joined).toEqual(["b"])
    files.write(documentsOf(["a", "b", "c"]))
    yield* pass(1)
    expect(joined).toEqual(["b", "c"])
  })
})

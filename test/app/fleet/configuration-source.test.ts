import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeConfigurationSource } from "../../../src/app/fleet/configuration-source.ts"
import type { FleetFiles } from "../../../src/ports/fleet-files.ts"
import { ChangingFiles, documentsOf } from "../../support/changing-files.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf } from "../../support/fleet.ts"
import { pass } from "../sessions/session-fleet.ts"

const start = Effect.fnUntraced(function* (files: FleetFiles) {
  const told: Array<string> = []
  const logger = Logger.map(Logger.formatStructured, ({ annotations, message }) => {
    told.push([message, annotations["problem"]].filter((part) => part !== undefined).join(" "))
  })
  yield* TestClock.setTime(1_000)
  const source = yield* makeConfigurationSource(files, configurationOf(["a", "b"])).pipe(
    Effect.provide(Logger.layer([logger]))
  )
  let changes = 0
  const stop = source.listen(() => changes++)
  yield* pass(1)
  const members = () => source.known().members.map(({ name }) => name)
  return { members, source, stop, told, changes: () => changes }
})

describe("the configuration of a running primary", () => {
  it.effect("that is what the start has read is no news", function* () {
    const { changes, source, told } = yield* start(new ChangingFiles(documentsOf(["a", "b"])))
    expect([source.known(), source.verdict()]).toEqual([configurationOf(["a", "b"]), { since: 1_000, problems: [] }])
    expect([changes(), told]).toEqual([0, []])
  })

  it.effect("is taken up when the files have changed since the start, and again after each change", function* () {
    const files = new ChangingFiles(documentsOf(["a", "c"]))
    const { changes, members, stop } = yield* start(files)
    expect([members(), changes()]).toEqual([["a", "c"], 1])
    files.write(documentsOf(["a"]))
    yield* pass(1)
    expect([members(), changes()]).toEqual([["a"], 2])
    stop()
    files.write(documentsOf(["a", "b"]))
    yield* pass(1)
    expect([members(), changes()]).toEqual([["a", "b"], 2])
  })

  it.effect("is followed after a failure too, which is told", function* () {
    const files = new ChangingFiles(documentsOf(["a", "c"]))
    let failures = 1
    const after: FleetFiles["after"] = (known) => (failures-- > 0 ? Effect.die("a defect") : files.after(known))
    const { members, told } = yield* start({ after })
    yield* pass(5)
    expect([members(), told]).toEqual([
      ["a", "c"],
      ["configuration could not be read", "changed configuration is taken up"]
    ])
  })

  it.effect(
    "is refused whole while anything in it is wrong, as at the start, and the last good one stays",
    function* () {
      const files = new ChangingFiles(documentsOf(["a", "b"]))
      const { changes, members, source, told } = yield* start(files)
      // The cluster c is right, and one beside it is not.
      files.write({
        ...documentsOf(["a", "c"]),
        clusters: {
          _tag: "Parsed",
          value: { clusters: [{ name: "a", server: "https://a", authType: "token" }, { name: "c" }] }
        }
      })
      yield* pass(1)
      expect([members(), changes()]).toEqual([["a", "b"], 1])
      const { problems, since } = source.verdict()
      expect(problems.map((problem) => problem.slice(0, 45))).toEqual([
        "clusters-config.yaml, clusters[0].authType: t",
        "clusters-config.yaml, clusters[1].authType: c",
        "clusters-config.yaml, clusters[1].server: clu"
      ])
      expect(told).toEqual([`changed configuration is refused, the last good one stays ${problems.join(" ")}`])
      files.write({ ...documentsOf(["a", "c"]), clusters: { _tag: "NotYaml", reason: "a tab" } })
      yield* pass(1)
      expect([members(), source.verdict().since]).toEqual([["a", "b"], since])
      files.write(documentsOf(["a", "c"]))
      yield* pass(1)
      expect([members(), source.verdict().problems]).toEqual([["a", "c"], []])
      expect(source.verdict().since).toBeGreaterThan(since)
      expect(told.at(-1)).toBe("changed configuration is taken up")
    }
  )

  it.effect("that needs a restart is refused, whatever else it changes", function* () {
    const files = new ChangingFiles(documentsOf(["a", "b"]))
    const { members, source } = yield* start(files)
    files.write(documentsOf(["b", "c"]))
    yield* pass(1)
    expect([members(), source.verdict().problems]).toEqual([
      ["a", "b"],
      [
        'multicluster-config.yaml, defaultCluster: the operator runs with "a" (found "b"); ' +
          "restart the operator, or set the former value back."
      ]
    ])
    files.write(documentsOf([]))
    yield* pass(1)
    expect([members(), source.verdict().problems.length]).toEqual([["a", "b"], 1])
  })
})

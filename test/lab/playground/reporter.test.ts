import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { afterEach, expect, vi } from "vitest"
import { makeReporter } from "../../../lab/playground/reporter.ts"
import { it } from "../../support/effect-it.ts"

afterEach(() => vi.restoreAllMocks())

const told = (options: Parameters<typeof makeReporter>[0]) =>
  Effect.gen(function* () {
    const written: Array<string> = []
    vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0)
    const reporter = makeReporter(options)
    yield* reporter.say("starting")
    yield* TestClock.adjust(61_400)
    yield* reporter.step("env", true, { CLUSTER: "cluster-a" })
    yield* reporter.step("file", false, { problem: "there is none" })
    expect(reporter.allOk()).toBe(false)
    return written.join("")
  })

it.effect("tells steps with what was seen, on a terminal with the time since the beginning", () =>
  Effect.gen(function* () {
    const base = { json: false, isTerminal: false, isColoured: false }
    const env = "the environment comes from the default cluster: CLUSTER=cluster-a"
    const file = "a file comes from the default cluster: there is none"
    expect(yield* told(base)).toBe(`starting\n✓ ${env}\n✗ ${file}\n`)
    expect(yield* told({ ...base, isTerminal: true })).toBe(`starting\n✓ ${env} (61 s)\n✗ ${file} (61 s)\n`)
    expect(yield* told({ ...base, isColoured: true })).toContain(`\u001b[32m✓\u001b[0m ${env}\n`)
    expect(yield* told({ ...base, json: true })).toBe(
      '{"step":"env","ok":true,"CLUSTER":"cluster-a"}\n{"step":"file","ok":false,"problem":"there is none"}\n'
    )
  })
)

import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { afterEach, describe, expect, it, vi } from "vitest"
import type { Unanswered } from "../../../../src/app/commands/overview/ask-cluster.ts"
import { type Output, tellOrWatch, type Told, toldText } from "../../../../src/app/commands/overview/tell.ts"
import { it as effectIt } from "../../../support/effect-it.ts"

describe("a finding of others' texts", () => {
  const nasty = "evil\u001b[2J\u009b\u202e"
  it.each<Output>(["json", "yaml"])("as %s holds nothing that a terminal obeys, at any depth", (output) => {
    const text = toldText(output, {
      value: { rows: [{ user: nasty, clusters: [nasty] }], age: 5 },
      lines: [],
      notes: []
    })
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
    expect(text).not.toContain("\\u001b")
    expect(text).toContain("evil\ufffd[2J\ufffd\ufffd")
  })
  it("is otherwise as it is", () => {
    const value = { name: "Größe 🎉", list: [1, null, true], none: undefined }
    expect(toldText("json", { value, lines: [], notes: [] })).toBe(JSON.stringify(value, null, 2))
  })
  it("has the person's own fields whole", () => {
    const own = { pem: "-----\n".repeat(1_000) }
    const told = { value: { user: "ann" }, own, lines: [], notes: [] }
    expect(JSON.parse(toldText("json", told))).toEqual({ user: "ann", ...own })
  })
})

describe("a finding that is watched", () => {
  afterEach(() => vi.restoreAllMocks())

  const row = (text: string): Told => ({ value: { row: text }, lines: [text], notes: [] })
  const away: Unanswered = { message: "The cluster is away.", fix: "Wait." }
  const watched = Effect.fnUntraced(function* (output: Output, findings: ReadonlyArray<Told | Unanswered>) {
    const out: Array<string> = []
    const errors: Array<string> = []
    const all: Array<string> = []
    vi.spyOn(console, "log").mockImplementation((text: string) => void all.push(out[out.push(text) - 1] ?? ""))
    vi.spyOn(console, "error").mockImplementation((text: string) => void all.push(errors[errors.push(text) - 1] ?? ""))
    let looks = 0
    const found = Effect.suspend(() => {
      const finding = findings[Math.min(looks++, findings.length - 1)] ?? away
      return "lines" in finding ? Effect.succeed(finding) : Effect.fail(finding)
    })
    const fiber = yield* Effect.forkScoped(tellOrWatch({ output, watch: true }, found))
    yield* TestClock.adjust("1 minute")
    return { out, errors, all, code: fiber.pollUnsafe() === undefined ? undefined : yield* Fiber.join(fiber) }
  })

  effectIt.effect.each([
    ["table", ["one\n", "two\n", "one\n"]],
    ["json", ['{"row":"one"}', '{"row":"two"}', '{"row":"one"}']],
    ["yaml", ["---\nrow: one", "---\nrow: two", "---\nrow: one"]]
  ] as const)("is shown as %s once for each change, and for ever", function* ([output, shown]) {
    const { code, errors, out } = yield* watched(output, [row("one"), row("one"), row("two"), row("one")])
    expect([code, errors, out]).toEqual([undefined, [], shown])
  })

  effectIt.effect("outlives a cluster that is away, which is told once", function* () {
    const { code, errors, out } = yield* watched("table", [row("one"), away, away, row("one")])
    expect([code, errors, out]).toEqual([undefined, ["braid: The cluster is away.", "fix: Wait."], ["one\n", "one\n"]])
  })

  effectIt.effect("is not shown again for an age alone where there is no screen", function* () {
    const aged = (age: string): Told => ({ ...row("one"), lines: [`one ${age}`] })
    const { out } = yield* watched("table", [aged("1s"), aged("3s"), aged("5s")])
    expect(out).toEqual(["one 1s\n"])
  })

  effectIt.effect("has its notes again behind each change, where no new screen takes them away", function* () {
    const noted = (text: string): Told => ({ ...row(text), notes: ["You may not list pods."] })
    const { all } = yield* watched("table", [noted("one"), noted("one"), noted("two"), row("two")])
    const note = "braid: You may not list pods."
    expect(all).toEqual(["one\n", note, "two\n", note, "two\n"])
  })

  effectIt.effect("ends where there is none at first", function* () {
    const { code, errors, out } = yield* watched("table", [away, row("one")])
    expect([code, errors, out]).toEqual([1, ["braid: The cluster is away.", "fix: Wait."], []])
  })
})

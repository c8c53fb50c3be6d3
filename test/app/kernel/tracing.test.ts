import { Clock, Effect, Random } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type EndedSpan, tellSpans } from "../../../lab/simulation/world/ended-span.ts"
import {
  CurrentTracing,
  currentTraceparent,
  traced,
  tracedBeside,
  traceEvent,
  type TracedPhase,
  type Tracing
} from "../../../src/app/kernel/tracing.ts"
import type { Sampler } from "../../../src/domain/tracing/sampler.ts"

const phase = (further: Partial<TracedPhase> = {}): TracedPhase => ({
  name: "session connect",
  attributes: {},
  ...further
})

/** Runs an effect with tracing, and gives its spans in the order of their ends. */
const spansOf = async (
  effect: Effect.Effect<unknown, unknown>,
  sampler?: Sampler
): Promise<ReadonlyArray<EndedSpan>> => {
  const spans: Array<EndedSpan> = []
  const program = Effect.gen(function* () {
    const telling = tellSpans(yield* Clock.Clock, (span) => spans.push(span))
    const tracing: Tracing = sampler === undefined ? telling : { ...telling, sampler }
    return yield* Effect.provideService(effect, CurrentTracing, tracing)
  })
  await Effect.runPromiseExit(Random.withSeed(program, "seed"))
  return spans
}

const traceId = fc.stringMatching(/^[0-9a-f]{32}$/).filter((id) => /[1-9a-f]/u.test(id))
const spanId = fc.stringMatching(/^[0-9a-f]{16}$/).filter((id) => /[1-9a-f]/u.test(id))

describe("a traced phase", () => {
  it("is the effect itself while traces are off, and carries nothing", async () => {
    const effect = Effect.succeed(1)
    const run = traced(phase({ isRoot: true }))(Effect.andThen(traceEvent("a moment"), currentTraceparent))
    expect(await Effect.runPromise(run)).toBeUndefined()
    expect(await Effect.runPromise(tracedBeside(Effect.die("never run"))(effect))).toBe(1)
  })

  it("begins a trace where it may, and is the parent of phases within it", async () => {
    const inner = traced({ name: "agent start", attributes: { "k8s.pod.name": "p" } })(traceEvent("agent ready"))
    const [child, root] = await spansOf(traced(phase({ isRoot: true }))(inner))
    expect(root).toMatchObject({ name: "session connect", parentSpanId: undefined, failure: undefined })
    expect(child).toMatchObject({
      name: "agent start",
      traceId: root?.traceId,
      parentSpanId: root?.spanId,
      moments: ["agent ready"],
      attributes: { "k8s.pod.name": "p", "braid.outcome": "ok" }
    })
    expect(root?.traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(root?.spanId).toMatch(/^[0-9a-f]{16}$/)
  })

  it("is not traced where it belongs to no trace, and where the trace that it names is none", async () => {
    for (const within of [
      undefined,
      "",
      "nonsense",
      `00-${"0".repeat(32)}-${"1".repeat(16)}-01`,
      `01-${"1".repeat(32)}-${"1".repeat(16)}-01`,
      `00-${"A".repeat(32)}-${"1".repeat(16)}-01`
    ])
      expect(await spansOf(traced(phase({ within }))(Effect.void)), within).toEqual([])
  })

  it("goes on with the trace of another process, which its own words carry on in turn", () =>
    fc.assert(
      fc.asyncProperty(traceId, spanId, fc.boolean(), async (trace, span, sampled) => {
        const within = `00-${trace}-${span}-${sampled ? "01" : "00"}`
        let carried: string | undefined
        const [found] = await spansOf(
          traced(phase({ within, isRoot: true }))(Effect.map(currentTraceparent, (text) => void (carried = text)))
        )
        expect(found).toMatchObject({ traceId: trace, parentSpanId: span })
        expect(carried).toBe(`00-${trace}-${found?.spanId}-${sampled ? "01" : "00"}`)
      }),
      { numRuns: 30 }
    ))

  it("ends when it is not sampled, and says so to whom it calls", async () => {
    let carried: string | undefined
    const run = traced(phase({ isRoot: true }))(Effect.map(currentTraceparent, (text) => void (carried = text)))
    await spansOf(run, { followsParent: true, ratio: 0 })
    expect(carried).toMatch(/-00$/)
  })

  it("draws its ids from the seeded service", async () => {
    const run = traced(phase({ isRoot: true }))(Effect.void)
    const ids = (spans: ReadonlyArray<EndedSpan>) => spans.map((span) => [span.traceId, span.spanId])
    expect(ids(await spansOf(run))).toEqual(ids(await spansOf(run)))
  })

  it("tells a failure by its reason and sentence, and of a defect nothing", async () => {
    const fail = (error: unknown) => spansOf(traced(phase({ isRoot: true }))(Effect.fail(error)))
    const [refused] = await fail({ reason: "Forbidden", message: "no\u0007", detail: "secret" })
    expect(refused).toMatchObject({ attributes: { "braid.outcome": "failed", "error.type": "Forbidden" } })
    expect(refused?.failure).toContain("no")
    expect(refused?.failure).not.toMatch(/secret|\p{Cc}| {4}at /u)
    const [defect] = await spansOf(traced(phase({ isRoot: true }))(Effect.die(new Error("secret"))))
    expect(defect).toMatchObject({ attributes: { "error.type": "Defect" } })
    expect(defect?.failure).not.toContain("secret")
    const [left] = await spansOf(traced(phase({ isRoot: true }))(Effect.interrupt))
    expect(left).toMatchObject({ attributes: { "braid.outcome": "interrupted" } })
  })

  it("ends what runs beside it, but not before its own end is seen there", async () => {
    const beside = Effect.all(
      [
        traced({ name: "member start", attributes: { "k8s.cluster.name": "a" } })(Effect.void),
        traced({ name: "member start", attributes: { "k8s.cluster.name": "b" } })(Effect.never)
      ],
      { concurrency: "unbounded" }
    )
    const spans = await spansOf(traced(phase({ isRoot: true }))(tracedBeside(beside)(Effect.yieldNow)))
    expect(
      spans.map(({ attributes, name }) => [name, attributes["k8s.cluster.name"], attributes["braid.outcome"]])
    ).toEqual([
      ["member start", "a", "ok"],
      ["member start", "b", "interrupted"],
      ["session connect", undefined, "ok"]
    ])
  })

  it("keeps long texts within bounds", async () => {
    const [span] = await spansOf(
      traced(phase({ isRoot: true, attributes: { "braid.target": "x".repeat(10_000) } }))(Effect.void)
    )
    expect(String(span?.attributes["braid.target"]).length).toBeLessThanOrEqual(512)
  })
})

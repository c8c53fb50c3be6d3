/**
 * Runs a story in a new world: acts, recovery, departure, and the invariants all along. The meaning of a line is in
 * `verbs/`, the rules that must hold are in `../invariants`.
 */

import { createHash, type Hash } from "node:crypto"
import { Result } from "effect"
import type { Checker, Invariant, Violation } from "../invariants/invariant.ts"
import { invariants } from "../invariants/invariants.ts"
import type { FaultPlan } from "../world/call-faults.ts"
import { worldStart } from "../world/credentials.ts"
import type { TimedEvent } from "../world/world-event.ts"
import { World } from "../world/world.ts"
import { describeEvent } from "./describe-event.ts"
import { eventText } from "./event-text.ts"
import { parseStory } from "./parse-story.ts"
import type { Story, StoryResult } from "./story.ts"
import type { StoryRun } from "./verb.ts"

/**
 * How long the world may take to recover after the end of all faults, virtual ms. A silent watch is noticed after 300
 * s.
 */
const recoveryTime = 400_000
/**
 * How long the world may take to clean up after the last client has left, virtual ms. A failed parent stays for 300 s,
 * and a leader's grace is 150 s.
 */
const departureTime = 600_000

export interface RunOptions {
  /** Collects {@link StoryResult.digest}. */
  readonly digest?: boolean
  /** Collects {@link StoryResult.events}. */
  readonly events?: boolean
  /**
   * Faults of calls from the first moment on, beside the story's own. The story's expectations need not hold then; the
   * invariants must.
   */
  readonly faults?: FaultPlan
  /** Whether operators trace sessions. */
  readonly traces?: boolean
  /** Hears everything that happens, beside the invariants. */
  readonly observe?: (event: TimedEvent) => void
}

const expectation: Pick<Violation, "id" | "sentence"> = { id: "expect", sentence: "What the story expects holds." }
const crash: Pick<Violation, "id" | "sentence"> = { id: "defect", sentence: "Nothing throws." }

/** Thrown to end a story's acts at its first violation; caught by {@link runStory}. */
class StoryOver extends Error {}

/**
 * Runs a story to its end: its acts; then a time without faults, in which the world must recover; then the departure of
 * all clients, after which nothing may be left. The run ends at the first violation. Throws `StoryMistakes` if the
 * story cannot be read.
 */
export const runStory = (story: Story, options: RunOptions = {}): StoryResult => {
  const parsed = parseStory(story.seed, story.lines)
  if (Result.isFailure(parsed)) {
    throw new Error(parsed.failure.map(({ line, message }) => `line ${line}: ${message}`).join("\n"))
  }
  const { acts, plan } = parsed.success
  const violations: Array<Violation> = []
  const transcript: Array<string> = []
  const events: Array<TimedEvent> = []
  const faults: Record<string, number> = {}
  const hash: Hash | undefined = options.digest === true ? createHash("sha256") : undefined
  let line = 0
  // Checkers see the first events while the world is still being made.
  let world: World | undefined = undefined
  const theWorld = (): World => {
    if (world === undefined) throw new Error("the world is not made yet")
    return world
  }
  const seconds = (at: number): string => ((at - worldStart) / 1000).toFixed(3)
  const broken = (invariant: Pick<Violation, "id" | "sentence">, detail: string): void => {
    if (violations.length > 0) return
    const at = world?.now ?? worldStart
    violations.push({ id: invariant.id, sentence: invariant.sentence, detail, at: at - worldStart, line })
    transcript.push(`  ${seconds(at)} BROKEN ${invariant.id}: ${invariant.sentence} ${detail}`)
  }
  const checkers: ReadonlyArray<readonly [Invariant, Checker]> = invariants
    .filter(({ ofBranches }) => ofBranches !== true || plan.branches)
    .map((invariant) => [invariant, invariant.begin(theWorld)])
  const observing = checkers.flatMap(([invariant, { on }]) => (on === undefined ? [] : [{ invariant, on }]))
  const observe = (event: TimedEvent): void => {
    if (options.events === true) events.push(event)
    options.observe?.(event)
    hash?.update(eventText(event))
    const text = describeEvent(event)
    if (text !== undefined) transcript.push(`  ${seconds(event.at)} ${text}`)
    for (const { invariant, on } of observing) {
      const detail = on(event)
      if (detail !== undefined) broken(invariant, detail)
    }
  }
  const isBroken = (): boolean => violations.length > 0
  const pass = (ms: number): void => {
    theWorld().kernel.run(theWorld().now + ms, isBroken)
    if (isBroken()) throw new StoryOver()
  }
  const atRest = (moment: "healed" | "left"): void => {
    for (const [invariant, checker] of checkers)
      for (const detail of checker.atRest?.(moment) ?? []) broken(invariant, detail)
    if (isBroken()) throw new StoryOver()
  }
  const settle = (): void => {
    theWorld().emit({ _tag: "Step", text: "(settle)" })
    theWorld().heal()
    pass(recoveryTime)
    atRest("healed")
  }
  const run: StoryRun = {
    get world() {
      return theWorld()
    },
    note: (text) => void transcript.push(`  ${text}`),
    fail: (sentence) => {
      if (options.faults === undefined) broken(expectation, sentence)
    },
    fault: (kind, text) => {
      faults[kind] = (faults[kind] ?? 0) + 1
      theWorld().emit({ _tag: "Fault", kind, text })
    },
    pass,
    settle
  }
  try {
    world = new World(options.traces === true ? { ...plan, traces: true } : plan, [observe])
    if (options.faults !== undefined) world.faultPlans.push(options.faults)
    for (const act of acts) {
      line = act.line
      transcript.push(act.text)
      world.emit({ _tag: "Step", text: act.text })
      act.run(run)
      if (isBroken()) throw new StoryOver()
    }
    line = story.lines.length + 1
    transcript.push("(settle)")
    settle()
    transcript.push("(everybody leaves)")
    for (const client of world.clients.values()) client.leave()
    pass(departureTime)
    atRest("left")
  } catch (error) {
    if (!(error instanceof StoryOver))
      broken(crash, error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
  return {
    violations,
    transcript,
    faults,
    virtualMs: (world?.now ?? worldStart) - worldStart,
    steps: world?.kernel.steps ?? 0,
    digest: hash?.digest("hex") ?? "",
    events,
    calls: Object.fromEntries([...(world?.clusters ?? [])].map(([name, { host }]) => [name, host.calls]))
  }
}

/**
 * Runs a story in a new world: acts, recovery, departure, and the invariants all along. The meaning of a line is in
 * `verbs/`, the rules that must hold are in `../invariants`.
 */

import { createHash, type Hash } from "node:crypto"
import { Result } from "effect"
import { type Checker, type Invariant, type Listener, listener, type Violation } from "../invariants/invariant.ts"
import { invariants } from "../invariants/invariants.ts"
import type { FaultPlan } from "../world/call-faults.ts"
import { worldStart } from "../world/credentials.ts"
import type { TimedEvent } from "../world/world-event.ts"
import { World, type WorldPlan } from "../world/world.ts"
import { describeEvent } from "./describe-event.ts"
import { eventText } from "./event-text.ts"
import { type ParsedStory, parseStory } from "./parse-story.ts"
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

const seconds = (at: number): string => ((at - worldStart) / 1000).toFixed(3)

/** A story that runs: its world, the invariants that watch it, and what has come of it so far. */
class Running {
  readonly violations: Array<Violation> = []
  readonly transcript: Array<string> = []
  readonly events: Array<TimedEvent> = []
  readonly faults: Record<string, number> = {}
  readonly hash: Hash | undefined
  /** The line of the story that runs. */
  line = 0
  /** Undefined while the world is being made: checkers see its first events. */
  world: World | undefined
  readonly #options: RunOptions
  readonly #checkers: ReadonlyArray<readonly [Invariant, Checker]>
  /** By the kind of an event: those who look at it. A story has some 100,000 events, and most are for a few. */
  readonly #listeners = new Map<TimedEvent["_tag"], ReadonlyArray<readonly [Invariant, Listener]>>()

  constructor(plan: WorldPlan, options: RunOptions) {
    this.#options = options
    this.hash = options.digest === true ? createHash("sha256") : undefined
    this.#checkers = invariants
      .filter(({ ofBranches }) => ofBranches !== true || plan.branches)
      .filter(({ ofOutbound }) => ofOutbound !== true || plan.outbound !== undefined)
      .map((invariant) => [invariant, invariant.begin(this.theWorld)])
  }

  readonly theWorld = (): World => {
    if (this.world === undefined) throw new Error("the world is not made yet")
    return this.world
  }

  /** Makes the world. */
  begin(plan: WorldPlan): World {
    const { faults, traces } = this.#options
    const world = new World(traces === true ? { ...plan, traces: true } : plan, [(event) => this.#observe(event)])
    this.world = world
    if (faults !== undefined) world.faultPlans.push(faults)
    return world
  }

  broken({ id, sentence }: Pick<Violation, "id" | "sentence">, detail: string): void {
    if (this.isBroken) return
    const at = this.world?.now ?? worldStart
    this.violations.push({ id, sentence, detail, at: at - worldStart, line: this.line })
    this.transcript.push(`  ${seconds(at)} BROKEN ${id}: ${sentence} ${detail}`)
  }

  get isBroken(): boolean {
    return this.violations.length > 0
  }

  #observe(event: TimedEvent): void {
    if (this.#options.events === true) this.events.push(event)
    this.#options.observe?.(event)
    this.hash?.update(eventText(event))
    const text = describeEvent(event)
    if (text !== undefined) this.transcript.push(`  ${seconds(event.at)} ${text}`)
    for (const [invariant, hear] of this.#listenersOf(event._tag)) {
      const detail = hear(event)
      if (detail !== undefined) this.broken(invariant, detail)
    }
  }

  #listenersOf(tag: TimedEvent["_tag"]): ReadonlyArray<readonly [Invariant, Listener]> {
    const known = this.#listeners.get(tag)
    if (known !== undefined) return known
    const listeners = this.#checkers.flatMap(([invariant, checker]) => {
      const hear = listener(checker, tag)
      return hear === undefined ? [] : [[invariant, hear] as const]
    })
    this.#listeners.set(tag, listeners)
    return listeners
  }

  stopIfBroken(): void {
    if (this.isBroken) throw new StoryOver()
  }

  readonly pass = (ms: number): void => {
    this.theWorld().kernel.run(this.theWorld().now + ms, () => this.isBroken)
    this.stopIfBroken()
  }

  atRest(moment: "healed" | "left"): void {
    for (const [invariant, checker] of this.#checkers)
      for (const detail of checker.atRest?.(moment) ?? []) this.broken(invariant, detail)
    this.stopIfBroken()
  }

  readonly settle = (): void => {
    this.theWorld().emit({ _tag: "Step", text: "(settle)" })
    this.theWorld().heal()
    this.pass(recoveryTime)
    this.atRest("healed")
  }

  /** The story as its acts see it. */
  forActs(world: World): StoryRun {
    return {
      world,
      note: (text) => void this.transcript.push(`  ${text}`),
      fail: (sentence) => {
        if (this.#options.faults === undefined) this.broken(expectation, sentence)
      },
      fault: (kind, text) => {
        this.faults[kind] = (this.faults[kind] ?? 0) + 1
        world.emit({ _tag: "Fault", kind, text })
      },
      pass: this.pass,
      settle: this.settle
    }
  }
}

/** The acts, a time without faults, and the departure of all clients; throws {@link StoryOver} at a violation. */
const tell = (running: Running, { acts, plan }: ParsedStory, lastLine: number): void => {
  const world = running.begin(plan)
  const run = running.forActs(world)
  for (const act of acts) {
    running.line = act.line
    running.transcript.push(act.text)
    world.emit({ _tag: "Step", text: act.text })
    act.run(run)
    running.stopIfBroken()
  }
  running.line = lastLine
  running.transcript.push("(settle)")
  running.settle()
  running.transcript.push("(everybody leaves)")
  for (const client of world.clients.values()) client.leave()
  running.pass(departureTime)
  running.atRest("left")
}

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
  const running = new Running(parsed.success.plan, options)
  try {
    tell(running, parsed.success, story.lines.length + 1)
  } catch (error) {
    if (!(error instanceof StoryOver))
      running.broken(crash, error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
  const { events, faults, hash, transcript, violations, world } = running
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

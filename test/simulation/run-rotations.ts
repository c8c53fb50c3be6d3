/** Runs stories of tokens that are renewed (rotation-story.ts), and counts what happened to the tokens. */

import { isOfKind } from "../../lab/simulation/story/call-kind.ts"
import { runStory } from "../../lab/simulation/story/run-story.ts"
import type { Story } from "../../lab/simulation/story/story.ts"
import type { TimedEvent } from "../../lab/simulation/world/world-event.ts"
import { maxInASecond } from "../support/most-in-a-second.ts"

/** The tokens of one story. */
export interface Rotations {
  /** Tokens that the members have granted to the primary; each replaced one before. */
  readonly granted: number
  /** Requests for tokens that failed. */
  readonly refused: number
  /** Most requests for tokens within one second. */
  readonly peak: number
  readonly virtualMs: number
  /** Everything that was brought about, by kind. */
  readonly faults: Readonly<Record<string, number>>
  /** The end of the transcript, if an operation failed or an invariant broke. */
  readonly failure: string | undefined
}

const shownLines = 40

export const runRotations = (story: Story): Rotations => {
  const asked: Array<number> = []
  let granted = 0
  let refused = 0
  const observe = (event: TimedEvent): void => {
    if (event._tag === "Called" && isOfKind(event.call, "tokens")) asked.push(event.at)
    if (event._tag !== "Answered" || !isOfKind(event.call, "tokens")) return
    if (event.outcome === "ok") granted++
    else refused++
  }
  const { faults, transcript, violations, virtualMs } = runStory(story, { observe })
  const [broken] = violations
  return {
    granted,
    refused,
    peak: maxInASecond(asked),
    virtualMs,
    faults,
    failure:
      broken === undefined
        ? undefined
        : [`seed ${story.seed}, line ${broken.line}: ${broken.id}: ${broken.sentence} ${broken.detail}`]
            .concat(transcript.slice(-shownLines))
            .join("\n")
  }
}

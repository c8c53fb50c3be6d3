/**
 * The port for users' programs of jq. They may run for ever, take any amount of memory, and say anything.
 *
 * Not here: which words of a program are refused, and what its outputs mean (domain/queues/jq-program.ts).
 */

import { Context, Data, type Effect } from "effect"

/**
 * - `NoProgram`: the text is no program of jq.
 * - `TooSlow`: the program took longer than its limit, or more memory than there is.
 */
export type JqFailureReason = "NoProgram" | "TooSlow"

/** A program gave no answer. `detail` is a clause without a full stop, and holds nothing of an input. */
export class JqFailed extends Data.TaggedError("JqFailed")<{
  readonly reason: JqFailureReason
  readonly detail: string
}> {
  override get message(): string {
    return `the jq program gave no answer: ${this.detail}`
  }
}

/** A program and what it reads. */
export interface JqRun {
  readonly program: string
  /** Values of JSON. */
  readonly inputs: ReadonlyArray<unknown>
  /** How long the program may take for one input on average, in ms. */
  readonly limit: number
}

export class JqPrograms extends Context.Service<
  JqPrograms,
  {
    /** Whether a text is a program of jq. It does not run. */
    readonly check: (program: string) => Effect.Effect<void, JqFailed>
    /**
     * The outputs of the program for each input, in the order of the inputs. An error of the program ends the outputs
     * of its input and is a `null` among them. Programs of all callers run one after the other.
     */
    readonly run: (run: JqRun) => Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, JqFailed>
  }
>()("braid/ports/JqPrograms") {}

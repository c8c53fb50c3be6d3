/**
 * Rewrites the answers to a client's requests for variables so that they lead to the branches of its session. All other
 * messages stay as they are.
 *
 * Not here: the variables (environment-rewriting.ts).
 */

import { AnswerOrder } from "../policy/answer-order.ts"
import { clientMessage } from "../protocol/client-message.ts"
import { daemonMessage } from "../protocol/daemon-message.ts"
import { peekClient, peekDaemon } from "../protocol/peek.ts"
import type { EnvironmentPlan } from "./environment-plan.ts"
import { everyVariable, rewriteEnvironment, type WantedVariables } from "./environment-rewriting.ts"

/** A message of the agent as the client may have it. */
export interface Answer {
  /** In a refusal the protocol's `Close`, with the sentence, instead of the variables. */
  readonly bytes: Uint8Array
  /** Sentences for the client's log. */
  readonly warnings: ReadonlyArray<string>
}

const unusedWarning = (branch: string): string =>
  `no environment variable of this target leads to branch ${branch}: the program finds its database as without the ` +
  "branch. The branch replaces the variables that its connection names"

/** The requests for variables of one connection, which are answered in their order. */
export class EnvironmentAnswers {
  readonly #plan: EnvironmentPlan
  readonly #asked = new AnswerOrder<WantedVariables>()
  readonly #told = new Set<string>()

  constructor(plan: EnvironmentPlan) {
    this.#plan = plan
  }

  /**
   * Hears a message that goes to the agent. The result is why the connection has to end, if the client asks without end
   * and reads nothing.
   */
  asked(bytes: Uint8Array): string | undefined {
    if (peekClient(bytes) !== "GetEnvVarsRequest") return undefined
    if (this.#asked.isFull) return "the client asked for variables again and again while no request was answered"
    const decoded = clientMessage.decode(bytes)
    if (decoded._tag !== "Decoded" || decoded.value._tag !== "GetEnvVarsRequest") return undefined
    const { envVarsFilter: filter, envVarsSelect: select } = decoded.value.value
    this.#asked.asked({ filter, select }, bytes.length)
    return undefined
  }

  /** A message of the agent that answers the client's requests for variables. */
  answered(bytes: Uint8Array): Answer {
    const unchanged = { bytes, warnings: [] }
    if (peekDaemon(bytes) !== "GetEnvVarsResponse") return unchanged
    const { note: wanted = everyVariable } = this.#asked.answered()
    const decoded = daemonMessage.decode(bytes)
    // A message that cannot be read goes no further than the router.
    if (decoded._tag !== "Decoded" || decoded.value._tag !== "GetEnvVarsResponse") return unchanged
    const { value: result } = decoded.value
    if (result._tag === "Err") return unchanged
    const rewritten = rewriteEnvironment(this.#plan, result.value, wanted)
    if (rewritten._tag === "Failure") {
      return { bytes: daemonMessage.encode({ _tag: "Close", value: rewritten.failure }), warnings: [] }
    }
    const { unused, variables } = rewritten.success
    const warnings = unused.filter((branch) => !this.#told.has(branch)).map(unusedWarning)
    for (const branch of unused) this.#told.add(branch)
    return {
      bytes: daemonMessage.encode({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: variables } }),
      warnings
    }
  }
}

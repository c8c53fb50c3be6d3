/**
 * Rewrites the answers to a client's requests for variables so that they lead to the branches and the queues of its
 * session. All other messages stay as they are.
 *
 * Not here: the variables (environment-plan.ts).
 */

import * as Result from "effect/Result"
import { AnswerOrder } from "../protocol/answer-order.ts"
import { clientMessage } from "../protocol/client-message.ts"
import { daemonMessage } from "../protocol/daemon-message.ts"
import { type ClientDecision, type DaemonDecision, pass } from "../protocol/message-filter.ts"
import type { ClientRowKey } from "../protocol/peek.ts"
import { isVariableName } from "./connection-source.ts"
import {
  type EnvironmentPlan,
  everyVariable,
  rewriteEnvironment,
  type RewrittenEnvironment,
  type UnusedBranch,
  type WantedVariables
} from "./environment-plan.ts"

/** A request for variables. `isOfConfiguration`: it asks for those by which the user's configuration names branches. */
interface Request extends WantedVariables {
  readonly isOfConfiguration: boolean
}

const tooMuch: ClientDecision = {
  _tag: "TooMuch",
  reason: "the client asked for variables again and again while no request was answered"
}

const usually: Request = { ...everyVariable, isOfConfiguration: false }

const unusedWarning = (branch: string): string =>
  `no environment variable of this target leads to branch ${branch}: the program finds its database as without the ` +
  "branch. The branch replaces the variables that its connection names"

const listed = (names: Iterable<string>): string => [...new Set(names)].join(", ")

/** How the user gets a branch with another connection: one that is there keeps the connection that it was made with. */
const again = (branch: string): string =>
  `give the branch another id in feature.db_branches, or stop it first: mirrord db-branches stop ${branch}`

/** The sentence for branches whose variables the target does not have; `undefined` if none of them names a variable. */
const unusedRefusal = (unused: ReadonlyArray<UnusedBranch>): string | undefined => {
  const found = unused.find(({ places }) => places.length > 0)
  return found === undefined
    ? undefined
    : `No environment variable of this target leads to branch ${found.branch}, and the program would use the ` +
        `target's own database: the branch's connection names ${listed(found.places)}, which this target does not ` +
        `have. Name a variable of this target, and ${again(found.branch)}.`
}

/** The sentence for variables that the configuration names and no branch replaces. */
const foreignRefusal = ({ named, places }: EnvironmentPlan, foreign: ReadonlyArray<string>): string | undefined => {
  const [branch = ""] = places.keys()
  return foreign.length === 0
    ? undefined
    : `The configuration names ${listed(foreign)} for a branch, and no branch of this session replaces it, so the ` +
        `program would use the target's own database: ${[...places.keys()].join(", ")} was made with a connection of ` +
        `${named.size === 0 ? "no variable" : listed(named)}, maybe for another engine. To have a branch of its own, ` +
        `${again(branch)}.`
}

/** Messages that a client may send before its first request, as a connection of its internal proxy does. */
const greetings: ReadonlySet<string | undefined> = new Set(["Ping", "SwitchProtocolVersion", "ReadyForLogs"])

/** The requests for variables of one connection, which are answered in their order. */
export class EnvironmentAnswers {
  readonly #plan: EnvironmentPlan
  readonly #refused: (sentence: string) => void
  readonly #asked = new AnswerOrder<Request>()
  readonly #told = new Set<string>()
  #isGreeted = false
  #isUnderWay = false

  /** `refused` gets the sentence of a refusal, after which the session may not go on by another connection. */
  constructor(plan: EnvironmentPlan, refused: (sentence: string) => void = () => undefined) {
    this.#plan = plan
    this.#refused = refused
  }

  /**
   * Hears each message of the client; none is changed.
   *
   * The internal proxy opens its connection with a ping. Where the configuration names branches, its next message asks
   * for the variables of their connections by name, before the program starts (db_portforwards.rs of the client). This
   * is the one message that says which variables the user means: a branch is found by its id alone, whatever made it.
   */
  asked(bytes: Uint8Array, row: ClientRowKey | undefined): ClientDecision {
    const isFirst = !this.#isUnderWay && this.#isGreeted
    this.#isGreeted ||= row === "Ping"
    this.#isUnderWay ||= !greetings.has(row)
    if (row !== "GetEnvVarsRequest") return pass
    if (this.#asked.isFull) return tooMuch
    const decoded = clientMessage.decode(bytes)
    if (decoded._tag !== "Decoded" || decoded.value._tag !== "GetEnvVarsRequest") return pass
    const { envVarsFilter: filter, envVarsSelect: select } = decoded.value.value
    const isOfConfiguration = isFirst && select.size > 0 && [...select].every(isVariableName)
    this.#asked.asked({ filter, select, isOfConfiguration }, bytes.length)
    return pass
  }

  /** Rewrites an answer to one of the client's requests for variables (`GetEnvVarsResponse`). */
  answered(bytes: Uint8Array): DaemonDecision {
    const { note: wanted = usually } = this.#asked.answered()
    const decoded = daemonMessage.decode(bytes)
    if (decoded._tag !== "Decoded" || decoded.value._tag !== "GetEnvVarsResponse") return pass
    const { value: result } = decoded.value
    if (result._tag === "Err") return pass
    const rewritten = this.#rewritten(result.value, wanted)
    if (Result.isFailure(rewritten)) {
      this.#refused(rewritten.failure)
      return { _tag: "EndSession", reason: rewritten.failure }
    }
    const { unused, variables } = rewritten.success
    const names = unused.map(({ branch }) => branch)
    const warnings = names.filter((branch) => !this.#told.has(branch)).map(unusedWarning)
    for (const branch of names) this.#told.add(branch)
    return {
      _tag: "PassChanged",
      bytes: daemonMessage.encode({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: variables } }),
      warnings
    }
  }

  /** The variables as the client may have them. The failure is a sentence for the user. */
  #rewritten(variables: ReadonlyMap<string, string>, wanted: Request): Result.Result<RewrittenEnvironment, string> {
    const plan = this.#plan
    return Result.flatMap(rewriteEnvironment(plan, variables, wanted), (rewritten) => {
      const { isOfConfiguration, select } = wanted
      const namesBranches = isOfConfiguration && plan.places.size > 0
      const foreign = namesBranches ? [...select].filter((name) => !plan.named.has(name)) : []
      const refusal = unusedRefusal(rewritten.unused) ?? foreignRefusal(plan, foreign)
      return refusal === undefined ? Result.succeed(rewritten) : Result.fail(refusal)
    })
  }
}

/**
 * The split that a connect asks for, read from its parameters.
 *
 * Not here: whether there are such queues, and whether the filters can be used (session-queues.ts, message-filter.ts);
 * the parameters of other brokers (sessions/unserved-parameters.ts).
 */

import * as Result from "effect/Result"
import { cleanText, quoted, textLimits } from "../clean-text.ts"
import { anyQueue, type ConnectParams, splitsAnyQueue } from "../sessions/connect-request.ts"
import { formatTargetPath } from "../targets/target-path.ts"
import type { Target } from "../targets/target.ts"
import type { FilterText } from "./message-filter.ts"
import type { GivenQueue } from "./observed-split.ts"
import type { WantedSplit } from "./wanted-split.ts"

/** The session for which a connect asks. */
export interface SplitPlace {
  readonly namespace: string
  readonly target: Target
  /** Whether the client is the operator of a primary, which connects to its session's part in this cluster. */
  readonly isLink: boolean
}

type Mode = NonNullable<ReturnType<WantedSplit["modes"]["get"]>>

/**
 * The ids of the queues that a connect names, each once. The client sends the mode alone for a queue without a filter.
 * Any queue alone is none of them: `mirrord up` sends its filter as well, and its mode for all brokers.
 */
export const namedQueues = (params: ConnectParams): ReadonlyArray<string> => {
  const { queue_modes: modes = {}, sqs_jq_filters: programs = {}, sqs_splits: splits = {} } = params.values
  const withModes = Object.keys(modes).filter((id) => !(splitsAnyQueue(params) && id === anyQueue))
  return [...new Set([...Object.keys(splits), ...Object.keys(programs), ...withModes])]
}

const filtersOf = (params: ConnectParams): ReadonlyMap<string, FilterText> => {
  const splits = new Map(Object.entries(params.values.sqs_splits ?? {}))
  const programs = new Map(Object.entries(params.values.sqs_jq_filters ?? {}))
  return new Map(
    namedQueues(params).map((id) => [id, { attributes: splits.get(id) ?? {}, program: programs.get(id) }] as const)
  )
}

const modesOf = ({ values }: ConnectParams): Result.Result<ReadonlyMap<string, Mode>, string> =>
  Result.map(
    Result.all(
      Object.entries(values.queue_modes ?? {}).map(([id, mode]) =>
        mode === "steal" || mode === "mirror"
          ? Result.succeed([id, mode] as const)
          : Result.fail(
              `The queue ${quoted(id)} has the mode ${quoted(mode)} (connect parameter queue_modes): name steal or ` +
                "mirror."
            )
      )
    ),
    (modes) => new Map(modes)
  )

/** The queues that the default cluster has made for the session, as its primary names them. */
const givenQueues = ({ values }: ConnectParams): ReadonlyArray<GivenQueue> => [
  ...(values.output_tmp_resources ?? []).flatMap(({ queue = {}, queueId }) =>
    Object.entries(queue).map(([original, made]) => ({ id: queueId, original, queue: made }))
  ),
  ...Object.entries(values.sqs_output_queues ?? {}).map(([original, queue]) => ({ id: undefined, original, queue }))
]

/**
 * The split that a connect asks for; `undefined` if it names no queue of SQS, or if `mirrord up` asks for any queue of
 * a target that can have none. The failure is a sentence.
 */
export const wantedSplit = (
  params: ConnectParams,
  { isLink, namespace, target }: SplitPlace
): Result.Result<WantedSplit | undefined, string> => {
  const filters = filtersOf(params)
  if (filters.size === 0) return Result.succeed(undefined)
  const isAutomatic = splitsAnyQueue(params) && [...filters.keys()].every((id) => id === anyQueue)
  if (target._tag !== "Workload" || (target.kind !== "deployment" && target.kind !== "rollout")) {
    return isAutomatic
      ? Result.succeed(undefined)
      : Result.fail(
          "Queues of SQS are split for a Deployment or a Rollout, and the target is " +
            `${quoted(formatTargetPath(target))}: name one of these as the target, or take feature.split_queues out.`
        )
  }
  const { container, kind, name } = target
  const { is_default_cluster: isDefault, key = "" } = params.values
  return Result.map(modesOf(params), (modes) => ({
    workload: { namespace, kind, name, container },
    filters,
    modes,
    isAutomatic,
    // As in the session's object, so that queues of all clusters show the same.
    sessionKey: key === "" ? undefined : cleanText(key, textLimits.parameter),
    startedAt: undefined,
    isShared: isLink,
    given: isLink && isDefault !== true ? givenQueues(params) : undefined
  }))
}

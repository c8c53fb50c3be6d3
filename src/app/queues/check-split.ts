/**
 * Refuses a split that is impossible, before there is a session that waits for it.
 *
 * Not here: what shows only while the split begins, such as rights to make queues.
 */

import { Effect, Result } from "effect"
import { quoted } from "../../domain/clean-text.ts"
import type { SplitObjects } from "../../domain/queues/chosen-configuration.ts"
import { sessionFilters } from "../../domain/queues/session-filters.ts"
import type { WantedSplit } from "../../domain/queues/wanted-split.ts"
import type { JqPrograms } from "../../ports/jq-programs.ts"
import type { KubeError, KubeObject } from "../../ports/kube-api.ts"
import type { QueueError } from "../../ports/message-queues.ts"
import { containerOf, type ResolveServices, resolveSplit } from "./resolve-split.ts"
import { orRefuse, SplitRefused } from "./split-refused.ts"

/** The port takes one program at a time. */
const checkPrograms = (jq: JqPrograms["Service"], { filters }: WantedSplit): Effect.Effect<void, SplitRefused> =>
  Effect.forEach(
    filters,
    ([id, { program }]) =>
      program === undefined
        ? Effect.void
        : Effect.mapError(
            jq.check(program),
            ({ detail }) =>
              new SplitRefused({ code: 400, why: `The queue ${quoted(id)}: The jq filter cannot be used: ${detail}.` })
          ),
    { discard: true }
  )

const check = Effect.fnUntraced(function* (
  services: ResolveServices,
  wanted: WantedSplit,
  object: KubeObject,
  objects: SplitObjects
): Effect.fn.Return<boolean, KubeError | QueueError | SplitRefused> {
  const { filters, isAutomatic, workload } = wanted
  const { configuration, template, variables } = yield* Effect.flatMap(
    resolveSplit(services, workload, object, objects),
    Effect.fromResult
  )
  const container = containerOf(template.template, workload.container)
  const read = yield* orRefuse(sessionFilters(configuration, { container, variables }, filters))
  yield* checkPrograms(services.jq, wanted)
  return !isAutomatic || read.size > 0
})

/**
 * Whether there is something to split. False only for `mirrord up`, which asks for all queues that there may be. The
 * failures are those of {@link resolveSplit}.
 */
export const checkSplit = (
  services: ResolveServices,
  wanted: WantedSplit,
  object: KubeObject,
  objects: SplitObjects
): Effect.Effect<Result.Result<boolean, SplitRefused>, KubeError | QueueError> =>
  check(services, wanted, object, objects).pipe(
    Effect.map(Result.succeed),
    Effect.catchTag("SplitRefused", (refused) =>
      Effect.succeed(
        wanted.isAutomatic && refused.isUnconfigured === true ? Result.succeed(false) : Result.fail(refused)
      )
    )
  )

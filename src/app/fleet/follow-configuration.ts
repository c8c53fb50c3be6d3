/**
 * Keeps a running fleet at its configuration, and reports each change and refusal by an Event of the operator's object.
 *
 * Not here: reading and judging the configuration (configuration-source.ts).
 */

import { Effect, Queue, type Scope } from "effect"
import { clusterRefusedEvent, configurationRefusedEvent, fleetChangedEvent } from "../../domain/events/fleet-events.ts"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { mirrordOperators } from "../../domain/resources/mirrord-operator.ts"
import type { EventRecorder } from "../kernel/event-recorder.ts"
import { logWarning } from "../kernel/log.ts"
import { untilDone } from "../kernel/until-done.ts"
import { changeFleet } from "./change-fleet.ts"
import type { ConfigurationSource } from "./configuration-source.ts"
import type { ChangingFleet } from "./fleet.ts"

const operator = { metadata: { name: "operator" } }

/** A fleet that follows its configuration. */
interface FollowingFleet {
  readonly fleet: ChangingFleet
  /** The configuration that the fleet was made with. */
  readonly made: FleetConfiguration
  readonly events: EventRecorder
}

/** Follows the configuration until the scope closes; one change is carried out before the next is looked at. */
export const followConfiguration = Effect.fnUntraced(function* (
  { events, fleet, made }: FollowingFleet,
  source: ConfigurationSource
): Effect.fn.Return<void, never, Scope.Scope> {
  const changes = yield* Queue.sliding<void>(1)
  let running = made
  let refused: ReadonlyArray<string> = []
  /** Reports clusters that were found and are not used, each time that others are. */
  const tellRefused = Effect.suspend(() => {
    const before = new Set(refused)
    refused = source.provided?.refused() ?? []
    const news = refused.filter((sentence) => !before.has(sentence))
    for (const sentence of news) events.record(mirrordOperators, operator, clusterRefusedEvent(sentence))
    return Effect.forEach(news, (problem) => logWarning("cluster is not used", { problem }), { discard: true })
  })
  const step = untilDone(
    Effect.gen(function* () {
      const { problems } = source.verdict()
      const next = source.known()
      const event = problems.length > 0 ? configurationRefusedEvent(problems) : fleetChangedEvent(running, next)
      if (event !== undefined) events.record(mirrordOperators, operator, event)
      yield* tellRefused
      yield* changeFleet(fleet, running, next)
      running = next
    }),
    "fleet could not be brought to its configuration"
  )
  yield* Effect.acquireRelease(
    Effect.sync(() => source.listen(() => Queue.offerUnsafe(changes, undefined))),
    (stop) => Effect.sync(stop)
  )
  // At once, too: the leader before this one may not have reported the refusal.
  yield* Effect.forkScoped(Effect.andThen(step, () => Effect.forever(Effect.andThen(Queue.take(changes), () => step))))
})

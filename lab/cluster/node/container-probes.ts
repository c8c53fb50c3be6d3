/**
 * The probes of a container that runs: whether it has started, is ready, is alive. How a probe asks is in `probe.ts`.
 */

import { Effect } from "effect"
import type { ContainerContext } from "./container-program.ts"
import { imageName } from "./pod-spec.ts"
import type { PodState } from "./pod-state.ts"
import type { ContainerRecord } from "./pod-status.ts"
import { awaitDeath, awaitStart, type ProbeWays, probeTarget, runProbe } from "./probe.ts"

/** A container that runs, and the ways to it. */
export interface Probed {
  readonly pod: PodState
  readonly record: ContainerRecord
  readonly ways: ProbeWays
}

export const waysTo = ({ node }: PodState, record: ContainerRecord, context: ContainerContext): ProbeWays => ({
  reach: node.book.reach,
  exec: (command) => {
    const run = node.images.get(imageName(record.spec.image))?.exec
    if (run !== undefined) return run(context, command)
    return Effect.sync(() => {
      record.log?.append("kubelet: no command can be run in a container of this image; the probe fails")
      return 1
    })
  }
})

/** Whether the container has started; false: it took too long. */
export const startup = ({ pod, record, ways }: Probed): Effect.Effect<boolean> => {
  const probe = record.spec.startupProbe
  if (probe === undefined) return Effect.succeed(true)
  const target = probeTarget("startupProbe", probe, record.spec, pod.ip)
  if ("unsupported" in target) {
    record.log?.append(`kubelet: ${target.unsupported}; the container never starts`)
    return Effect.never
  }
  return Effect.tap(awaitStart(probe, target, ways), (started) => {
    if (!started) record.log?.append("kubelet: the startupProbe failed too often; the container is restarted")
    return Effect.void
  })
}

/** Keeps up whether the container is ready: its program has given the signal, and its probe passes. */
export const readiness = Effect.fnUntraced(function* ({ pod, record, ways }: Probed, signal: Effect.Effect<void>) {
  const probe = record.spec.readinessProbe
  let signalled = false
  let passes = probe === undefined
  const update = (): void => {
    record.ready = signalled && passes
    pod.publish()
  }
  const awaitSignal = Effect.andThen(
    signal,
    Effect.sync(() => {
      signalled = true
      update()
    })
  )
  if (probe === undefined) return yield* awaitSignal
  const target = probeTarget("readinessProbe", probe, record.spec, pod.ip)
  if ("unsupported" in target) {
    record.log?.append(`kubelet: ${target.unsupported}; the container never becomes ready`)
    return
  }
  const probing = runProbe(probe, target, ways, (verdict) => {
    passes = verdict
    update()
  })
  yield* Effect.all([awaitSignal, probing], { concurrency: 2, discard: true })
})

/** Ends when the container must be restarted. */
export const liveness = ({ pod, record, ways }: Probed): Effect.Effect<void> => {
  const probe = record.spec.livenessProbe
  if (probe === undefined) return Effect.never
  const target = probeTarget("livenessProbe", probe, record.spec, pod.ip)
  if ("unsupported" in target) {
    record.log?.append(`kubelet: ${target.unsupported}; the container is never restarted for it`)
    return Effect.never
  }
  return Effect.andThen(
    awaitDeath(probe, target, ways),
    Effect.sync(() => record.log?.append("kubelet: the livenessProbe failed too often; the container is restarted"))
  )
}

/** The runs of a container, one after the other, with what each waits for: image, volumes, environment, back-off. */

import { Duration, Effect, Result } from "effect"
import { nameOf } from "../store/store-access.ts"
import { containerEnv } from "./container-env.ts"
import { runOnce, userOf } from "./container-run.ts"
import { imageName } from "./pod-spec.ts"
import type { PodState } from "./pod-state.ts"
import type { ContainerRecord } from "./pod-status.ts"

const missingRetry = Duration.millis(250)
/** A container that ran for at least this time restarts without back-off. */
const healthyRunMs = 600_000

const doubled = (delay: Duration.Duration, max: Duration.Duration): Duration.Duration =>
  Duration.min(Duration.times(delay, 2), max)

const awaitImage = Effect.fnUntraced(function* (pod: PodState, record: ContainerRecord) {
  const { images, restartBackOff } = pod.node
  let delay = restartBackOff.initial
  while (!images.has(imageName(record.spec.image))) {
    const known = [...images.keys()].toSorted().join(", ")
    const hasJustFailed = record.state._tag === "Waiting" && record.state.reason === "ErrImagePull"
    const reason = hasJustFailed ? "ImagePullBackOff" : "ErrImagePull"
    const message = `failed to pull image "${record.spec.image}": not found; images of this node: ${known || "none"}`
    pod.wait(record, reason, message)
    yield* Effect.sleep(delay)
    delay = doubled(delay, restartBackOff.max)
  }
})

/** Waits for image, volumes and environment; gives the environment. */
const prepare = Effect.fnUntraced(function* (pod: PodState, record: ContainerRecord) {
  yield* awaitImage(pod, record)
  while (true) {
    const mounted = yield* pod.files.mount(record.spec)
    const user = userOf(pod, record.spec)
    const env = Result.flatMap(user, () => containerEnv(pod.sources, record.spec, pod.node.serviceEnv))
    if (Result.isSuccess(mounted) && Result.isSuccess(env)) return env.success
    if (Result.isFailure(mounted)) pod.wait(record, "ContainerCreating", mounted.failure)
    else if (Result.isFailure(env)) pod.wait(record, "CreateContainerConfigError", env.failure)
    yield* Effect.sleep(missingRetry)
  }
})

/** Runs a container until `mayRestart` says no; gives the last exit code. `ended` is run after each of its runs. */
export const runContainer = Effect.fnUntraced(function* (
  pod: PodState,
  record: ContainerRecord,
  mayRestart: (exitCode: number) => boolean,
  ended: Effect.Effect<void>
) {
  const { now, restartBackOff } = pod.node
  let delay = Duration.zero
  while (true) {
    const env = yield* prepare(pod, record)
    const began = now()
    const exitCode = yield* runOnce(pod, record, env)
    yield* ended
    if (!mayRestart(exitCode)) return exitCode
    if (now() - began >= healthyRunMs) delay = Duration.zero
    record.lastState = record.state
    record.restartCount++
    const seconds = Duration.toSeconds(delay)
    const message = `back-off ${seconds}s restarting failed container=${record.spec.name} pod=${nameOf(pod.pod)}`
    pod.wait(record, "CrashLoopBackOff", message)
    yield* Effect.sleep(delay)
    delay = Duration.isZero(delay) ? restartBackOff.initial : doubled(delay, restartBackOff.max)
  }
})

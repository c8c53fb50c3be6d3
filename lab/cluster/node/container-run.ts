/** One run of a container: from its start, with its probes, to its program's end. Restarts are in `restarts.ts`. */

import { randomBytes } from "node:crypto"
import { Cause, Deferred, Effect, Exit, Fiber, Result } from "effect"
import { nameOf, uidOf } from "../store/store-access.ts"
import { expandVariables } from "./container-env.ts"
import { ContainerLog } from "./container-log.ts"
import { liveness, readiness, startup, waysTo } from "./container-probes.ts"
import type { ContainerContext } from "./container-program.ts"
import { asUser, containerUser } from "./container-user.ts"
import { type ContainerSpec, imageName } from "./pod-spec.ts"
import type { PodState } from "./pod-state.ts"
import type { ContainerRecord } from "./pod-status.ts"

const oneTurn = Effect.callback<void>((resume) => {
  const turn = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(turn))
})

/** The exit code of a container that ended on request (128 + SIGTERM). */
const killedExitCode = 143

/** Bounds of a real kubelet for what it takes from a log. */
const messageLines = 80
const messageLength = 2_048

/** The end of a failed container's log as its message. Messages that a program writes into a file are not served. */
const terminationMessage = (
  { terminationMessagePolicy }: ContainerSpec,
  exitCode: number,
  log: ContainerLog
): { readonly message?: string } =>
  exitCode !== 0 && terminationMessagePolicy === "FallbackToLogsOnError"
    ? { message: log.tail(messageLines, messageLength) }
    : {}

const exitCodeOf = (exit: Exit.Exit<number>): number => {
  if (Exit.isSuccess(exit)) return exit.value
  return Cause.hasInterruptsOnly(exit.cause) ? killedExitCode : 1
}

/** The user that a container runs as. The failure is a sentence. */
export const userOf = (
  { namespace, node, pod, spec }: PodState,
  container: ContainerSpec
): Result.Result<number, string> => {
  const imageUser = node.images.get(imageName(container.image))?.userId ?? 0
  return containerUser({ pod: { name: `${nameOf(pod)}_${namespace}(${uidOf(pod)})`, spec }, container, imageUser })
}

/** A run that has begun. */
interface Run {
  readonly id: string
  readonly containerId: string
  readonly log: ContainerLog
  readonly began: number
  /** Done when the program says that it is ready. */
  readonly isReady: Deferred.Deferred<void>
}

/** Begins a run in the container's record. */
const begin = ({ node }: PodState, record: ContainerRecord): Run => {
  const id = randomBytes(32).toString("hex")
  const containerId = `containerd://${id}`
  const log = new ContainerLog(node.now)
  const began = node.now()
  record.previousLog = record.log
  record.log = log
  record.containerId = containerId
  record.state = { _tag: "Running", startedAt: began }
  record.started = record.spec.startupProbe === undefined
  return { id, containerId, log, began, isReady: Deferred.makeUnsafe() }
}

const contextOf = (
  pod: PodState,
  { spec }: ContainerRecord,
  { isReady, log }: Run,
  env: ReadonlyMap<string, string>
): ContainerContext => {
  const { node } = pod
  const userId = Result.getOrElse(userOf(pod, spec), () => 0)
  return {
    pod: pod.current(),
    containerName: spec.name,
    targetContainerName: spec.targetContainerName,
    podIp: pod.ip,
    env,
    userId,
    args: [...(spec.command ?? []), ...(spec.args ?? [])].map((text) => expandVariables(text, env)),
    root: pod.files.root(spec),
    gracePeriodSeconds: () => pod.gracePeriodSeconds(),
    log: (line) => log.append(line),
    ready: () => Deferred.doneUnsafe(isReady, Effect.void),
    listen: (port, onConnection) => pod.network.listen(port, onConnection),
    target: (wanted) => asUser(userId, node.target(wanted)),
    onNode: () => [...node.running.values()].map((entry) => entry.container),
    reach: node.reach
  }
}

/** Lets the node know of the run, and agents find its container. */
const register = (pod: PodState, { id, containerId }: Run, { containerName, env, root }: ContainerContext): void => {
  const { ip: podIp, namespace, network, node } = pod
  node.running.set(id, {
    container: {
      namespace,
      pod: nameOf(pod.pod),
      podUid: uidOf(pod.pod),
      container: containerName,
      containerId,
      podIp
    },
    target: {
      env,
      root,
      podIp,
      resolve: (name) => node.resolve(namespace, name),
      redirect: (port, accept) => network.redirect(port, accept)
    }
  })
}

const end = (pod: PodState, record: ContainerRecord, run: Run, exit: Exit.Exit<number>): void => {
  const { began, containerId, id, log } = run
  if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) log.append(Cause.pretty(exit.cause))
  pod.node.running.delete(id)
  record.ready = false
  record.started = false
  const exitCode = exitCodeOf(exit)
  record.state = {
    _tag: "Terminated",
    exitCode,
    ...terminationMessage(record.spec, exitCode, log),
    startedAt: began,
    finishedAt: pod.node.now(),
    containerId
  }
  log.end()
  pod.publish()
}

/** Runs a container once; gives the exit code. */
export const runOnce = Effect.fnUntraced(function* (
  pod: PodState,
  record: ContainerRecord,
  env: ReadonlyMap<string, string>
) {
  const program = pod.node.images.get(imageName(record.spec.image))
  if (program === undefined) return 1
  const run = begin(pod, record)
  const context = contextOf(pod, record, run, env)
  const probed = { pod, record, ways: waysTo(pod, record, context) }
  register(pod, run, context)
  pod.publish()
  const isReady = Deferred.await(run.isReady)
  const signal = program.signalsReady === true ? isReady : Effect.raceFirst(isReady, oneTurn)
  const life = Effect.gen(function* () {
    const started = yield* Deferred.make<void>()
    yield* Effect.forkScoped(Effect.andThen(Deferred.await(started), readiness(probed, signal)))
    // A fiber of its own: the scope waits for the program's end, whether the probe or the pod ends it.
    const running = yield* Effect.forkScoped(Effect.scoped(Effect.suspend(() => program(context))), {
      startImmediately: true
    })
    const watch = Effect.gen(function* () {
      if (yield* startup(probed)) {
        record.started = true
        pod.publish()
        yield* Deferred.succeed(started, undefined)
        yield* Deferred.succeed(pod.starting.get(record) ?? started, undefined)
        yield* liveness(probed)
      }
      yield* Fiber.interrupt(running)
    })
    yield* Effect.forkScoped(watch)
    return yield* Fiber.join(running)
  })
  return yield* Effect.scoped(life).pipe(
    Effect.onExit((exit) => Effect.sync(() => end(pod, record, run, exit))),
    Effect.catchCause((cause) => Effect.succeed(exitCodeOf(Exit.failCause(cause))))
  )
})

/**
 * Containers that are processes of this machine: start, output as log, signals, and the end of the whole process group.
 * No sandbox: the process sees the machine's files and network (for Node programs see `pod-network-preload.ts`).
 */

import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { Duration, Effect } from "effect"
import { within } from "../../../src/app/kernel/within.ts"
import { type ContainerContext, type ContainerProgram, signalsReady } from "./container-program.ts"
import { reapWithUs } from "./reaper.ts"

export interface ProcessProgramOptions {
  /** Executable and arguments. Give paths below `container.root` in full: the process is not confined to it. */
  readonly command: (container: ContainerContext) => readonly [string, ...ReadonlyArray<string>]
  /** Variables that replace the container's own, such as paths that differ for an unconfined process. */
  readonly env?: (container: ContainerContext) => Readonly<Record<string, string>>
  /** The container is ready once a line of its output matches. Without it the pod's readinessProbe alone decides. */
  readonly readyWhen?: (line: string) => boolean
  /** Whether `command` does what `container.args` say, so that other commands can be run in the container. */
  readonly runsAnything?: boolean
  /** Called with the id of the process as soon as there is one. */
  readonly started?: (pid: number) => void
}

/** Running children. They are killed if this process exits without closing its scopes. */
const alive = new Set<ChildProcess>()
let hooked = false

/** Signals the whole process group: the child's own children must end too. */
const signal = (child: ChildProcess, name: "SIGTERM" | "SIGKILL"): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, name)
  } catch {
    // The group has ended already.
  }
}

const track = (child: ChildProcess): void => {
  alive.add(child)
  const ended = child.pid === undefined ? () => undefined : reapWithUs(child.pid)
  child.once("exit", ended)
  child.once("close", () => alive.delete(child))
  if (hooked) return
  hooked = true
  process.once("exit", () => {
    for (const left of alive) signal(left, "SIGKILL")
  })
}

const signalNumbers: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGSEGV: 11, SIGTERM: 15 }

const lines = (stream: Readable, each: (line: string) => void): void => {
  createInterface({ input: stream, crlfDelay: Infinity }).on("line", each)
}

/** Starts a process group of its own. */
const start = (options: ProcessProgramOptions, container: ContainerContext): ChildProcess => {
  const [executable, ...args] = options.command(container)
  const child = spawn(executable, args, {
    cwd: container.root,
    env: { ...Object.fromEntries(container.env), ...options.env?.(container) },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true
  })
  track(child)
  return child
}

/** The exit code of a command; what it says is lost. Interruption kills it. */
const execute = (options: ProcessProgramOptions, container: ContainerContext): Effect.Effect<number> =>
  Effect.callback<number>((resume) => {
    const child = start(options, container)
    for (const stream of [child.stdout, child.stderr]) stream?.resume()
    child.once("error", () => resume(Effect.succeed(127)))
    child.once("close", (code) => resume(Effect.succeed(code ?? 1)))
    return Effect.sync(() => signal(child, "SIGKILL"))
  })

const runProcess = Effect.fnUntraced(function* (options: ProcessProgramOptions, container: ContainerContext) {
  const child = start(options, container)
  if (child.pid !== undefined) options.started?.(child.pid)
  const ended = new Promise<number>((resolve) => {
    child.once("error", (error) => {
      container.log(`cannot run ${child.spawnfile}: ${error.message}`)
      if (child.pid === undefined) resolve(127)
    })
    // The rest of the process group must neither outlive the process nor hold its output open.
    child.once("exit", () => signal(child, "SIGKILL"))
    child.once("close", (code, name) => resolve(code ?? 128 + (signalNumbers[name ?? ""] ?? 0)))
  })
  yield* Effect.addFinalizer(() =>
    child.exitCode !== null || child.signalCode !== null || child.pid === undefined
      ? Effect.void
      : Effect.sync(() => signal(child, "SIGTERM")).pipe(
          Effect.andThen(
            within(
              Effect.promise(() => ended),
              Duration.seconds(container.gracePeriodSeconds())
            )
          ),
          Effect.andThen(Effect.sync(() => signal(child, "SIGKILL"))),
          Effect.andThen(Effect.promise(() => ended)),
          Effect.asVoid
        )
  )
  const output = (line: string): void => {
    container.log(line)
    if (options.readyWhen?.(line) === true) container.ready()
  }
  for (const stream of [child.stdout, child.stderr]) if (stream !== null) lines(stream, output)
  return yield* Effect.promise(() => ended)
})

/**
 * The process gets the container's environment and nothing else: give an absolute executable unless the pod sets PATH.
 * Interruption sends SIGTERM to the process group, SIGKILL after the grace period. The exit code is 127 if the process
 * cannot be started, 128 + n if signal n ended it.
 */
export const processProgram = (options: ProcessProgramOptions): ContainerProgram => {
  const program = (container: ContainerContext) => runProcess(options, container)
  const marked = options.readyWhen === undefined ? program : signalsReady(program)
  if (options.runsAnything !== true) return marked
  const exec = (container: ContainerContext, args: ReadonlyArray<string>) => execute(options, { ...container, args })
  return Object.assign(marked, { exec })
}

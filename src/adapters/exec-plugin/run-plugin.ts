/**
 * Runs the program of a plugin: implements the port `RunPlugin`. It gets no input, no terminal and no more of this
 * process's environment than `PATH` and `HOME`.
 *
 * Not here: which program that is, and what its answer means.
 */

import { type ChildProcessByStdio, spawn } from "node:child_process"
import type { Readable } from "node:stream"
import { Effect, Redacted } from "effect"
import {
  type ExecFailure,
  execInfoVariable,
  execPatienceSecs,
  maxExecOutput
} from "../../domain/fleet/credentials/exec-credential.ts"
import type { RunPlugin } from "../../ports/exec-plugin.ts"

type Program = Parameters<RunPlugin>[0]
type Child = ChildProcessByStdio<null, Readable, Readable>

const environment = (env: Program["env"], info: string): Record<string, string> => ({
  ...Object.fromEntries(["PATH", "HOME"].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
  ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, Redacted.value(value)])),
  [execInfoVariable]: info
})

/** Ends a program with all that it has started. */
const kill = ({ pid }: Child): void => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL")
  } catch {
    // It has ended by itself.
  }
}

/** Gathers what is written to a stream. `tooMuch` is called when it is more than a plugin may write. */
const gather = (stream: Readable, tooMuch: () => void): (() => string) => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxExecOutput) tooMuch()
    else chunks.push(chunk)
  })
  return () => Buffer.concat(chunks).toString("utf8")
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : String(error)

/** In a session of its own, so that `/dev/tty` leads to no terminal and all its processes are of one group. */
const start = ({ args, command, env }: Program, info: string): Child =>
  spawn(command, [...args], {
    detached: true,
    env: environment(env, info),
    stdio: ["ignore", "pipe", "pipe"]
  })

const run = (program: Program, info: string): Effect.Effect<string, ExecFailure> =>
  Effect.callback<string, ExecFailure>((resume) => {
    const fail = (failure: ExecFailure): void => resume(Effect.fail(failure))
    let child: Child
    try {
      child = start(program, info)
    } catch (error) {
      return fail({ _tag: "NotStarted", code: codeOf(error) })
    }
    const tooMuch = (): void => {
      kill(child)
      fail({ _tag: "TooMuch" })
    }
    const [stdout, stderr] = [gather(child.stdout, tooMuch), gather(child.stderr, tooMuch)]
    child.on("error", (error) => fail({ _tag: "NotStarted", code: codeOf(error) }))
    child.on("close", (code, signal) => {
      if (code === 0) resume(Effect.succeed(stdout()))
      else fail({ _tag: "Failed", how: code ?? signal ?? "no exit code", stderr: stderr() })
    })
    return Effect.sync(() => kill(child))
  })

export const runPlugin: RunPlugin = (program, info) =>
  Effect.timeoutOrElse(run(program, info), {
    duration: `${execPatienceSecs} seconds`,
    orElse: () => Effect.fail({ _tag: "TooSlow" } as const)
  })

/** mirrord's own client in the playground, with a home of its own, of which nothing is left afterwards. */

import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { ClientFailed } from "../../client/client-failed.ts"
import { reapWithUs } from "../../cluster/node/reaper.ts"
import { killProcessesOf } from "./home-processes.ts"
import { programPath } from "./postgresql.ts"

export interface Said {
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command of the client to its end; another exit code than 0 is a failure with its words. */
export type Mirrord = (args: ReadonlyArray<string>) => Effect.Effect<Said, ClientFailed>

export interface MirrordOptions {
  readonly file: string
  /** A folder that does not exist yet. */
  readonly home: string
  readonly kubeconfig: string
}

/** Waits for the end of the command alone: its internal proxy keeps the output open for some seconds more. */
const ended = (child: ChildProcess): Effect.Effect<number, ClientFailed> =>
  Effect.callback<number, ClientFailed>((resume) => {
    child.once("error", (error) => resume(Effect.fail(new ClientFailed({ detail: error.message }))))
    child.once("exit", (code) => resume(Effect.succeed(code ?? 1)))
  })

/** The client with programs that find the engine's tools. Its processes end with the scope. */
export const makeMirrord = ({ file, home, kubeconfig }: MirrordOptions): Effect.Effect<Mirrord, never, Scope.Scope> =>
  Effect.gen(function* () {
    const temporary = join(home, "tmp")
    yield* Effect.acquireRelease(
      // The client requires this folder to exist.
      Effect.sync(() => mkdirSync(join(temporary, "mirrord"), { recursive: true, mode: 0o700 })),
      () => Effect.sync(() => killProcessesOf(home))
    )
    const env = {
      PATH: programPath,
      HOME: home,
      TMPDIR: temporary,
      KUBECONFIG: kubeconfig,
      MIRRORD_TELEMETRY: "false",
      MIRRORD_PROGRESS_MODE: "off"
    }
    let runs = 0
    return Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
      runs++
      const [out, err] = [join(temporary, `${runs}.out`), join(temporary, `${runs}.err`)]
      const files = [openSync(out, "wx"), openSync(err, "wx")] as const
      const child = spawn(file, args, { cwd: home, detached: true, stdio: ["ignore", ...files], env })
      for (const each of files) closeSync(each)
      const isGone = child.pid === undefined ? () => undefined : reapWithUs(child.pid)
      const code = yield* ended(child).pipe(Effect.ensuring(Effect.sync(isGone)))
      const said = { stdout: readFileSync(out, "utf8"), stderr: readFileSync(err, "utf8") }
      if (code === 0) return said
      // The client wraps its sentences. A URL that a program prints has a password.
      const words = `${said.stdout}${said.stderr}`
        .replaceAll(/:\/\/\S*@/gu, "://…@")
        .replaceAll(/[\s│×├─▶╰]+/gu, " ")
        .trim()
      return yield* new ClientFailed({ detail: `mirrord ${args[0] ?? ""} ended with ${code}: ${words}` })
    })
  })

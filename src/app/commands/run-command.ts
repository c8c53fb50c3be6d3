/**
 * How every command of `braid` runs: its code is loaded late, and its number becomes the exit code of the process.
 *
 * Not here: the commands and their flags (braid.ts).
 */

import { Effect, Runtime } from "effect"

/** Ends the process with a code once the command is done and cleaned up. */
const exitWith = (code: number): Effect.Effect<void> =>
  Effect.sync(() => {
    process.exitCode = code
  })

/** Loads the code of a command when the command runs, so that no command pays for the others. */
export const runs = <Module, E, R>(
  load: () => Promise<Module>,
  run: (module: Module) => Effect.Effect<number, E, R>
): Effect.Effect<void, E, R> => Effect.flatMap(Effect.promise(load), (module) => Effect.flatMap(run(module), exitWith))

/** An interrupted command ends with 130, unless it has set another code: for some commands Ctrl-C is the usual end. */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  Runtime.defaultTeardown(exit, (code) => onExit(code === 130 ? Number(process.exitCode ?? code) : code))

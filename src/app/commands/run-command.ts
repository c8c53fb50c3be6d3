import { Effect, Runtime } from "effect"

/** Ends the process with a code once the command is done and cleaned up. */
const exitWith = (code: number): Effect.Effect<void> =>
  Effect.sync(() => {
    process.exitCode = code
  })

/**
 * A command whose code is loaded only when it is run, so that none pays for the others. The process ends with its exit
 * code.
 */
export const runs = <Module, E, R>(
  load: () => Promise<Module>,
  run: (module: Module) => Effect.Effect<number, E, R>
): Effect.Effect<void, E, R> => Effect.flatMap(Effect.promise(load), (module) => Effect.flatMap(run(module), exitWith))

/**
 * An interrupted command ends with 130, unless it has said otherwise: to some, Ctrl-C is the end that they wait for.
 */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  Runtime.defaultTeardown(exit, (code) => onExit(code === 130 ? Number(process.exitCode ?? code) : code))

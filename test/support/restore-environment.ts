/**
 * Gives this process its environment variables of an earlier moment. Never another object in the place of
 * `process.env`: what comes later in the process would change that object alone, and programs and `os.tmpdir()` go on
 * with the old variables.
 */
export const restoreEnvironment = (kept: Readonly<NodeJS.ProcessEnv>): void => {
  for (const name of Object.keys(process.env)) if (kept[name] === undefined) delete process.env[name]
  Object.assign(process.env, kept)
}

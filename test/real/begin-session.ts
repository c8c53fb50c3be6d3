/** Sessions of mirrord's own client that go on while a test asks the workloads. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { type RealPlayground, runClient, type RunningCommand } from "./harness.ts"
import { parentNames, type Played, readySession } from "./sessions.ts"

/** A command of the client with a target, once its session is ready in all clusters. */
export const beginSession = async (
  real: Played & Pick<RealPlayground, "home" | "kubeconfig">,
  mirrord: string,
  [name, ...args]: readonly [string, ...ReadonlyArray<string>],
  incoming: object = {}
): Promise<RunningCommand> => {
  const home = real.home("session")
  const config = join(home, "mirrord.json")
  writeFileSync(config, JSON.stringify({ feature: { network: { incoming } } }))
  const known = parentNames(real.playground())
  const command = runClient({ file: mirrord, args: [name, "-f", config, ...args], home, kubeconfig: real.kubeconfig() })
  try {
    await readySession(real, known)
  } catch (error) {
    command.stop()
    throw new Error(`${String(error)}\n${command.stderr()}`, { cause: error })
  }
  return command
}

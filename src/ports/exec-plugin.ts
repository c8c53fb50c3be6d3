/**
 * The port by which a plugin is run: a program that gives credentials.
 *
 * Not here: which programs there are (domain/fleet/access-providers.ts), and what they say
 * (domain/fleet/credentials/exec-credential.ts).
 */

import type { Effect } from "effect"
import type { ExecConfig } from "../domain/fleet/access-providers.ts"
import type { ExecFailure } from "../domain/fleet/credentials/exec-credential.ts"

/** Runs a program once and gives what it wrote to its standard output. `info`: the value of `KUBERNETES_EXEC_INFO`. */
export type RunPlugin = (
  program: Pick<ExecConfig, "args" | "command" | "env">,
  info: string
) => Effect.Effect<string, ExecFailure>

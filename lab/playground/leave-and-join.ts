/** The steps of the playground's story in which a cluster leaves the fleet, and joins it again by one command. */

import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect } from "effect"
import { boundMinutes } from "../client/bound.ts"
import { ClientFailed } from "../client/client-failed.ts"
import type { AdministratorPlace } from "./local-cluster.ts"

const program = fileURLToPath(new URL("../../src/app/braid.ts", import.meta.url))

/** The clusters as their administrator reaches them, and the cluster that leaves and joins. */
export interface Membership {
  readonly place: AdministratorPlace
  readonly primary: string
  readonly member: string
}

/** Runs `braid`; the result is the command, and its first lines until an empty one. */
const braid = ({ place, primary }: Membership, args: ReadonlyArray<string>) =>
  Effect.tryPromise({
    try: async (signal) => {
      const all = [...args, "--context", primary]
      const env = { ...process.env, KUBECONFIG: place.kubeconfig }
      const [file, ...rest] = place.command([process.execPath, program, ...all])
      const { stdout } = await promisify(execFile)(file, rest, { env, signal })
      return { command: ["braid", ...all].join(" "), output: stdout.split("\n\n")[0]?.split("\n") ?? [] }
    },
    catch: (cause) => new ClientFailed({ detail: cause instanceof Error ? cause.message : String(cause) })
  })

/** With force, since the story's session uses the cluster. */
export const leaveFleet = (membership: Membership) =>
  braid(membership, ["leave", membership.member, "--apply", "--force"])

/** The command's own bounds are those of a person at a machine that is not loaded. */
const bounds = ["--timeout-secs", "--wait-secs"].flatMap((flag) => [flag, String(boundMinutes * 60)])

export const joinFleet = (membership: Membership) =>
  braid(membership, ["join", membership.member, "--apply", "--wait", ...bounds])

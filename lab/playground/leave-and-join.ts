/** The steps of the playground's story in which a cluster leaves the fleet, and joins it again by one command. */

import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect } from "effect"
import { asArray, asObject, asString, at } from "../../src/domain/json.ts"
import { boundMinutes } from "../client/bound.ts"
import { ClientFailed } from "../client/client-failed.ts"
import type { AdministratorPlace, PlaygroundCell } from "./local-cluster.ts"

const program = fileURLToPath(new URL("../../src/app/braid.ts", import.meta.url))

/** The clusters as their administrator reaches them, and the cluster that leaves and joins. */
export interface Membership {
  readonly place: AdministratorPlace
  readonly primary: string
  readonly member: string
  /** The cell that the member dials; `undefined` if the primary reaches the member. */
  readonly cell: PlaygroundCell | undefined
}

/** Runs `braid`. */
const run = ({ place, primary }: Membership, args: ReadonlyArray<string>) =>
  Effect.tryPromise({
    try: async (signal) => {
      const all = [...args, "--context", primary]
      const env = { ...process.env, KUBECONFIG: place.kubeconfig }
      const [file, ...rest] = place.command([process.execPath, program, ...all])
      const { stdout } = await promisify(execFile)(file, rest, { env, signal })
      return { command: ["braid", ...all].join(" "), stdout }
    },
    catch: (cause) => new ClientFailed({ detail: cause instanceof Error ? cause.message : String(cause) })
  })

/** Runs `braid`; the result is the command, and its first lines until an empty one. */
const braid = (membership: Membership, args: ReadonlyArray<string>) =>
  Effect.map(run(membership, args), ({ command, stdout }) => ({
    command,
    output: stdout.split("\n\n")[0]?.split("\n") ?? []
  }))

/** With force, since the story's session uses the cluster. */
export const leaveFleet = (membership: Membership) =>
  braid(membership, ["leave", membership.member, "--apply", "--force"])

/** The command's own bounds are those of a person at a machine that is not loaded. */
const bounds = ["--timeout-secs", "--wait-secs"].flatMap((flag) => [flag, String(boundMinutes * 60)])

/** The member's values are those that the command prints, as they would be those of its release. */
const joinByDialling = Effect.fnUntraced(function* (membership: Membership, { bootstrap, cell, dial }: PlaygroundCell) {
  const { member } = membership
  const addresses = ["--cell", cell, "--bootstrap", bootstrap]
  const { command, stdout } = yield* run(membership, [
    "join",
    member,
    "--outbound",
    ...addresses,
    "--apply",
    "-o",
    "json"
  ])
  const printed: unknown = JSON.parse(stdout)
  const values = asObject(at(printed, "values", "member", "operator", "outbound"))
  const text = (name: string): string => asString(values[name]) ?? ""
  const [address, takes, pin, token] = ["cell", "bootstrap", "pin", "token"].map(text)
  const dialled = dial(member, { cell: address ?? "", bootstrap: takes ?? "", pin: pin ?? "", token })
  yield* Effect.mapError(dialled, ({ message }) => new ClientFailed({ detail: message }))
  return { command, output: asArray(at(printed, "done")).map(String) }
})

export const joinFleet = (membership: Membership) =>
  membership.cell === undefined
    ? braid(membership, ["join", membership.member, "--apply", "--wait", ...bounds])
    : joinByDialling(membership, membership.cell)

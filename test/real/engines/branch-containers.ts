/** The containers of a branch's pod, run as processes of this machine with its own engines. */

import * as Result from "effect/Result"
import { expect } from "vitest"
import { programsOf } from "../../../src/adapters/engines/programs.ts"
import { branchPod } from "../../../src/domain/branches/branch-pod.ts"
import { readBranchRequest } from "../../../src/domain/branches/branch-request.ts"
import { asObjects, asStrings, at, type JsonObject } from "../../../src/domain/json.ts"
import type { BranchDatabaseSpec } from "../../../src/domain/resources/branches/branch-database.ts"
import { bareBranchSpec } from "../../support/branch-spec.ts"
import { engineFolder, podFolders, resolvedEnv, run, type Ended } from "./postgresql-server.ts"

/** A branch as a test asks for it. */
export interface WantedBranch {
  readonly spec: Partial<BranchDatabaseSpec>
  /** Variables of the copying container that are not as the pod has them. */
  readonly change?: Readonly<Record<string, string>>
}

/** The surroundings of the branches of a test. */
export interface BranchPlace {
  /** Environment of the target's container, with the variable `DATABASE_URL`. */
  readonly env: ReadonlyArray<JsonObject>
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Search path of the engine's programs. */
  readonly path: string
  /** A folder for the folders of branches, unless these are temporary files like others. */
  readonly parent?: string
}

/** A program with its environment. */
export interface Command {
  readonly command: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
}

export const branchPassword = 'of \'the\\\\ "branch" $(HOME)'

/** A variable of the target's container as a source. */
export const fromEnv = (variable: string) => ({ env: { container: null, variable } })

const containersOf = ({ spec }: WantedBranch, { env }: BranchPlace) => {
  const request = Result.getOrThrow(
    readBranchRequest({
      ...bareBranchSpec,
      connectionSource: { url: fromEnv("DATABASE_URL") },
      ...spec
    })
  )
  const settings = { imagePullSecrets: [], labels: {}, annotations: {}, dataLimit: "1Gi", stagingLimit: "100Mi" }
  const owner = { apiVersion: "v1", kind: "BranchDatabase", name: "b", uid: "u" }
  const template = { spec: { containers: [{ name: "app", env }] } }
  const pod = Result.getOrThrow(
    branchPod(settings, {
      name: "branch-1",
      namespace: "default",
      owner,
      request,
      programs: programsOf(request.dialect),
      digest: "d",
      template
    })
  )
  const [copy = {}] = asObjects(at(pod, "spec", "initContainers"))
  const [database = {}] = asObjects(at(pod, "spec", "containers"))
  return { copy, database }
}

const commandOf = (container: JsonObject, place: BranchPlace, more: Readonly<Record<string, string>>): Command => {
  const secrets = { ...place.secrets, "branch-1": { password: branchPassword } }
  return {
    command: asStrings(container["command"]),
    env: resolvedEnv(container, secrets, { PATH: place.path, ...more })
  }
}

/** Makes the copy in a folder of its own, and removes the folder after `then`. */
const copied = async <A>(
  place: BranchPlace,
  wanted: WantedBranch,
  then: (ended: Ended, serve: Command) => Promise<A>
): Promise<A> => {
  const own = engineFolder(place.parent)
  try {
    const folders = podFolders(own.path)
    const { copy, database } = containersOf(wanted, place)
    const { command, env } = commandOf(copy, place, { ...folders, ...wanted.change })
    const [program = "", ...args] = command
    const ended = await run(program, args, env)
    return await then(ended, commandOf(database, place, folders))
  } finally {
    own.remove()
  }
}

/** Makes the branch, and starts its server for `then`. */
export const withBranch = <A>(
  place: BranchPlace,
  wanted: WantedBranch,
  then: (serve: Command, log: string) => Promise<A>
): Promise<A> =>
  copied(place, wanted, ({ err, out, status }, serve) => {
    if (status !== 0) throw new Error(err)
    expect(out).toBe("")
    return then(serve, err)
  })

/** The reason of a copy that fails, as the pod's termination message has it. */
export const copyFailure = (place: BranchPlace, wanted: WantedBranch): Promise<string> =>
  copied(place, wanted, async ({ err, out, status }) => {
    expect(status).not.toBe(0)
    return out + err
  })

/** Parts of lines that name things of the world, which an act gets as they are when it runs. */

import { Result } from "effect"
import type { NetworkConnection, Place } from "../world/network.ts"
import type { SimClient } from "../world/sim-client.ts"
import { type WorkloadPlan, workloadKinds } from "../world/sim-kubelet.ts"
import type { SimCluster, World } from "../world/world.ts"
import { name, type Part, oneWord } from "./parts.ts"
import { nameWord, oneOf } from "./words.ts"

const present = <A>(thing: A | undefined, what: string): Result.Result<A, string> =>
  thing === undefined ? Result.fail(`there is no ${what}`) : Result.succeed(thing)

export const findCluster = (world: World, cluster: string): Result.Result<SimCluster, string> =>
  present(world.clusters.get(cluster), `cluster ${cluster}`)

/** A cluster's name alone, of which the world need not know. */
export const clusterName = name("<cluster>", "a cluster's name")
export const cluster: Part<string, SimCluster> = { ...clusterName, find: findCluster }

export const sessionName = name("<session>", "a session's name")
export const session: Part<string, SimClient> = {
  ...sessionName,
  find: (world, said) => present(world.clients.get(said), `session ${said}`)
}

/** Two places that differ, each a cluster or the machine of a session's user. */
export interface Link {
  readonly from: Place
  readonly to: Place
  /** The two as the line names them. */
  readonly names: readonly [string, string]
}

const placeOf = ({ clients, clusters }: World, said: string): Result.Result<Place, string> =>
  present(clusters.has(said) ? said : clients.get(said)?.place, `place ${said}`)

export const link: Part<readonly [string, string], Link> = {
  usage: "<place> <place>",
  read: (left) => {
    const place = (): Result.Result<string, string> => nameWord(left.shift(), "a cluster's or session's name")
    return Result.all([place(), place()])
  },
  find: (world, names) =>
    Result.flatMap(Result.all(names.map((said) => placeOf(world, said))), ([from = "", to = ""]) =>
      from === to ? Result.fail(`${names.join(" and ")} are the same place`) : Result.succeed({ from, to, names })
    )
}

/** The connections between two places. */
export interface Connections {
  readonly between: string
  readonly connections: ReadonlyArray<NetworkConnection>
}

export const connections: Part<readonly [string, string], Connections> = {
  ...link,
  find: (world, names) =>
    Result.flatMap(link.find?.(world, names) ?? Result.fail("no place"), ({ from, to }) => {
      const [found, between] = [world.network.between(from, to), names.join(" and ")]
      return found.length === 0
        ? Result.fail(`there is no connection between ${between}`)
        : Result.succeed({ between, connections: found })
    })
}

/** `statefulset/db` and the like: a workload that copies are made of. */
export type Workload = Pick<WorkloadPlan, "kind" | "name">
export const workload: Part<Workload> = oneWord("<kind>/<name>", (said) =>
  Result.gen(function* () {
    const [kind, named, ...rest] = (said ?? "").split("/")
    if (rest.length > 0) return yield* Result.fail(`${JSON.stringify(said)} is no workload: write deployment/myapp`)
    return { kind: yield* oneOf(kind, workloadKinds), name: yield* nameWord(named, "a workload's name") }
  })
)

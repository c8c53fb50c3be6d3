/**
 * Finds what the words of a line name in the world as it is now. If a name or its object is missing, the line does
 * nothing and says so: random stories hit such moments, and shrinking removes lines that later lines depend on.
 */

import type { Place } from "../world/network.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { SimCluster } from "../world/world.ts"
import type { StoryRun } from "./verb.ts"

const absent = (run: StoryRun, what: string): void => run.note(`there is no ${what}: nothing happens`)

/** Notes that a line does nothing, and why. */
export const nothingHappens = (run: StoryRun, why: string): void => run.note(`${why}: nothing happens`)

export const withCluster = (run: StoryRun, name: string, act: (cluster: SimCluster) => void): void => {
  const cluster = run.world.clusters.get(name)
  if (cluster === undefined) absent(run, `cluster ${name}`)
  else act(cluster)
}

export const withSession = (run: StoryRun, name: string, act: (client: SimClient) => void): void => {
  const client = run.world.clients.get(name)
  if (client === undefined) absent(run, `session ${name}`)
  else act(client)
}

/** Finds two places. A place is a cluster, or the machine of a session's user. */
export const withPlaces = (
  run: StoryRun,
  first: string,
  second: string,
  act: (from: Place, to: Place) => void
): void => {
  const placeOf = (word: string): Place | undefined =>
    run.world.clusters.has(word) ? word : run.world.clients.get(word)?.place
  const [from, to] = [placeOf(first), placeOf(second)]
  if (from === undefined) absent(run, `place ${first}`)
  else if (to === undefined) absent(run, `place ${second}`)
  else if (from === to) nothingHappens(run, `${first} and ${second} are the same place`)
  else act(from, to)
}

/** Connections between two places, if there are any. */
export const withLink = (
  run: StoryRun,
  first: string,
  second: string,
  act: (connections: ReturnType<StoryRun["world"]["network"]["between"]>) => void
): void =>
  withPlaces(run, first, second, (from, to) => {
    const connections = run.world.network.between(from, to)
    if (connections.length === 0) nothingHappens(run, `there is no connection between ${first} and ${second}`)
    else act(connections)
  })

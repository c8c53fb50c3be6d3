import type { Place } from "../world/network.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { SimCluster } from "../world/world.ts"
import type { StoryRun } from "./verb.ts"

/**
 * What the words of a line mean in the world as it is now. Where a name is not there, or what it means is not there at
 * the moment, the line does nothing and says so: random stories hit such moments, and shrinking takes lines away that
 * others lean on.
 */

const absent = (run: StoryRun, what: string): void => run.note(`there is no ${what}: nothing happens`)

/** The same note, for what is not there at the moment. */
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

/** A place is a cluster, or a session: the machine of its user. */
export const withPlaces = (
  run: StoryRun,
  one: string,
  other: string,
  act: (one: Place, other: Place) => void
): void => {
  const placeOf = (word: string): Place | undefined =>
    run.world.clusters.has(word) ? word : run.world.clients.get(word)?.place
  const [from, to] = [placeOf(one), placeOf(other)]
  if (from === undefined) absent(run, `place ${one}`)
  else if (to === undefined) absent(run, `place ${other}`)
  else if (from === to) nothingHappens(run, `${one} and ${other} are the same place`)
  else act(from, to)
}

/** Connections between two places, once there is one. */
export const withLink = (
  run: StoryRun,
  one: string,
  other: string,
  act: (connections: ReturnType<StoryRun["world"]["network"]["between"]>) => void
): void =>
  withPlaces(run, one, other, (from, to) => {
    const connections = run.world.network.between(from, to)
    if (connections.length === 0) nothingHappens(run, `there is no connection between ${one} and ${other}`)
    else act(connections)
  })

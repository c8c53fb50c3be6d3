/**
 * Measures how long the status of a branch takes from the default cluster to the primary, in virtual time: 40 branches
 * are ordered at a primary, made, used, left and expire.
 */

import { branchHistory, isBranch, marksOf, statusText } from "../../lab/simulation/invariants/branch-history.ts"
import type { TimedEvent } from "../../lab/simulation/world/world-event.ts"
import { defaultPlan, World } from "../../lab/simulation/world/world.ts"

const orders = 40
/** Time between two orders, and until all branches have expired, ms. */
const pause = 700
const wholeLife = 400_000

/** Virtual ms from each status of a copy to the same status of its origin. `oneWay`: the network's time, ms. */
export const branchStatusLags = (seed: string, oneWay?: number): ReadonlyArray<number> => {
  const lags: Array<number> = []
  const due = new Map<string, { readonly status: string; readonly since: number }>()
  const history = branchHistory(() => world)
  const observe = (event: TimedEvent): void => {
    history.take(event)
    if (event._tag !== "Committed" || !isBranch(event.commit)) return
    const { after } = event.commit
    if (after === undefined) return
    const status = statusText(after)
    const origin = marksOf(after)?.uid
    if (origin !== undefined) {
      if (due.get(origin)?.status !== status) due.set(origin, { status, since: event.at })
      return
    }
    const uid = after.metadata.uid ?? ""
    const expected = due.get(uid)
    if (expected?.status !== status) return
    lags.push(event.at - expected.since)
    due.delete(uid)
  }
  const clusters = [{ name: "a", pods: 1 }]
  const world: World = new World({ ...defaultPlan, seed, clusters, defaultCluster: "a", branches: true }, [observe])
  if (oneWay !== undefined) {
    world.network.setLatency("primary", "a", oneWay, oneWay)
    world.network.setLatency("a", "primary", oneWay, oneWay)
  }
  world.pass(2_000)
  const wish = {
    engine: "pg",
    ttlSecs: 60,
    patience: 60_000,
    isLocal: false,
    image: undefined,
    isMigrated: false
  } as const
  for (let i = 0; i < orders; i++) {
    const branches = { ...wish, ids: [`branch-${i}`] }
    world.startClient({ name: `s${i}`, user: "ann", shape: "exec", target: "deployment.myapp", branches })
    world.pass(pause)
  }
  world.pass(20_000)
  for (const client of world.clients.values()) client.leave()
  world.pass(wholeLife)
  return lags.toSorted((x, y) => x - y)
}

/** The value below which so large a part of sorted values is. */
export const quantile = (sorted: ReadonlyArray<number>, part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN

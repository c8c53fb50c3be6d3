/**
 * The owner that a shared thing is to have, such as a cluster: weighted rendezvous hashing. Each replica computes it by
 * itself, from the same names and weights, so no replica has to inform the others.
 *
 * Not here: how an owner takes things and gives them up (shard-plan.ts).
 */

import type { Sha256Hex } from "../fleet/cluster-name.ts"

/** A replica that can own things. */
export interface ShardReplica {
  /** Name of its pod. */
  readonly name: string
  /** Its share of the things, relative to the other replicas; more than 0. */
  readonly weight: number
}

/** 52 bits, the most that a number between 0 and 1 keeps all of. */
const hashDigits = 13

/** A number between 0 and 1, both excluded, that looks drawn by chance for each pair of names. */
const chanceOf = (replica: string, thing: string, sha256Hex: Sha256Hex): number =>
  (Number.parseInt(sha256Hex(`${replica}\n${thing}`).slice(0, hashDigits), 16) + 0.5) / 16 ** hashDigits

/**
 * The replica with the highest score, which is `-weight / ln(chance)`: the share of each replica is then proportional
 * to its weight, and only things of a replica that left, or for one that came, get another owner. Nothing without
 * replicas.
 */
export const rendezvousOwner = (
  thing: string,
  replicas: ReadonlyArray<ShardReplica>,
  sha256Hex: Sha256Hex
): string | undefined => {
  const scored = replicas.map(({ name, weight }) => ({
    name,
    score: -weight / Math.log(chanceOf(name, thing, sha256Hex))
  }))
  return scored.toSorted((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))[0]?.name
}

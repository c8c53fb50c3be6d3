/** The flags of `npm run explore`. */

import { availableParallelism } from "node:os"
import { Flag } from "effect/cli"

export const exploreFlags = {
  minutes: Flag.Finite("minutes").pipe(
    Flag.filter(
      (minutes) => minutes > 0,
      () => "a number above 0"
    ),
    Flag.withMetavar("N"),
    Flag.withDescription("How long it explores (default 20): a quarter of the time properties, then stories"),
    Flag.withDefault(20)
  ),
  seed: Flag.Int("seed").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("A whole number that all seeds follow from (default: a new one)"),
    Flag.optional
  ),
  workers: Flag.Int("workers").pipe(
    Flag.filter(
      (workers) => workers >= 1,
      () => "a whole number above 0"
    ),
    Flag.withMetavar("N"),
    Flag.withDescription("Stories that run at the same time (default: one per core)"),
    Flag.withDefault(availableParallelism())
  ),
  write: Flag.Boolean("write").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Writes what it proposes to test/seeds.json")
  )
}

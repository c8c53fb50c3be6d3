/** The flags of `npm run fuzz`. Nothing is run here. */

import type { Option } from "effect"
import { Flag } from "effect/cli"

export const fuzzFlags = {
  seconds: Flag.Int("seconds").pipe(
    Flag.withDefault(300),
    Flag.withDescription("How long attackers work, after the start of the clusters")
  ),
  seed: Flag.Int("seed").pipe(Flag.optional, Flag.withDescription("What inputs are drawn from (default: a new one)")),
  surface: Flag.String("surface").pipe(
    Flag.optional,
    Flag.withDescription("Only inputs of this kind, such as connect; --seed is then that of a failure")
  ),
  path: Flag.String("path").pipe(
    Flag.optional,
    Flag.withDescription("Only this input, as a failure names it; needs --surface and --seed")
  ),
  subnet: Flag.Int("subnet").pipe(
    Flag.withDefault(60),
    Flag.withDescription("Pods get addresses from 127.<subnet>.0.0 on, a /16 per cluster")
  )
}

/** The flags as the command line gives them. */
export interface FuzzFlags {
  readonly seconds: number
  readonly seed: Option.Option<number>
  readonly surface: Option.Option<string>
  readonly path: Option.Option<string>
  readonly subnet: number
}

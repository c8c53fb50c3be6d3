import { Option } from "effect"
import type { SimulateFlags } from "../../../../lab/simulation/command/simulate-flags.ts"

/** Flags by their names, as a person gives them. */
export type Given = Partial<Record<Exclude<keyof SimulateFlags, "forever" | "json">, string>> & {
  readonly forever?: boolean
  readonly json?: boolean
}

/** The flags of `simulate` as the command line gives them. */
export const givenFlags = ({ forever = false, json = false, ...texts }: Given): SimulateFlags => ({
  seed: Option.fromUndefinedOr(texts.seed),
  stories: Option.fromUndefinedOr(texts.stories),
  story: Option.fromUndefinedOr(texts.story),
  scenario: Option.fromUndefinedOr(texts.scenario),
  sweep: Option.fromUndefinedOr(texts.sweep),
  clusters: Option.fromUndefinedOr(texts.clusters),
  sessions: Option.fromUndefinedOr(texts.sessions),
  hours: Option.fromUndefinedOr(texts.hours),
  workers: Option.fromUndefinedOr(texts.workers),
  trace: Option.fromUndefinedOr(texts.trace),
  report: Option.fromUndefinedOr(texts.report),
  forever,
  json
})

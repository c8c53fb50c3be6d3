import type { LaneServerOptions } from "../../src/adapters/kubernetes/serve-lanes.ts"

/** The options of lanes at an outpost that takes no requests of people, unless given. */
export const laneOptions = (
  envoy: string,
  userAgent: string,
  people: Partial<Pick<LaneServerOptions, "note" | "people">> = {}
): LaneServerOptions => ({
  envoy,
  userAgent,
  people: { groups: [], extraKeys: [], prefix: "primary:" },
  note: () => () => {},
  ...people
})

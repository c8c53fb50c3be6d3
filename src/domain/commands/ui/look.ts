/**
 * The looks of sessions and of their parts on pages, and what they mean: the live page and the report of the simulation
 * have the same.
 */

export const looks = {
  waiting: "not ready yet",
  ready: "ready",
  degraded: "ready without a member",
  ending: "being ended",
  failed: "failed",
  running: "runs",
  paused: "paused"
} as const
export type Look = keyof typeof looks

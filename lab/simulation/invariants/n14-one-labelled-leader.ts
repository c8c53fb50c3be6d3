/**
 * N14 (failures.md §3.14). The Service selects its pod by the leader's label. Without a labelled pod no client is
 * served; with two labelled pods a standby gets requests.
 */

import { leaderLabel } from "../../../src/domain/leadership/leader-label.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import type { Invariant } from "./invariant.ts"

export const oneLabelledLeader: Invariant = {
  id: "N14",
  sentence: "Once all is well, every elected operator has a leader, and its pod alone has the leader's label.",
  begin: (world) => ({
    atRest: () =>
      [...world().clusters.values()].flatMap(({ host, name, server }) => {
        if (!host.isElected || host.isGone) return []
        const labelled = server.objects
          .peekAll(pods)
          .flatMap(({ metadata }) => (metadata.labels?.[leaderLabel] === "true" ? [metadata.name] : []))
        const leader = host.leader?.pod?.name
        if (leader === undefined) return [`Nobody leads the operator of ${name}.`]
        return labelled.length === 1 && labelled[0] === leader
          ? []
          : [`${leader} leads in ${name}, but the label is on ${labelled.join(" and ") || "no pod"}.`]
      })
  })
}

/**
 * The rights by which a primary keeps the configurations of queue splits the same in its members.
 *
 * Not here: rights on the ConfigMaps and Secrets that property lists name, which have no copies.
 */

import type { Right, RightCard, RightCondition } from "../catalogue/right.ts"
import { syncedConfigurationKinds } from "./configuration-sync-plan.ts"

const onKinds = (verbs: ReadonlyArray<string>, when: ReadonlyArray<RightCondition>): ReadonlyArray<Right> =>
  syncedConfigurationKinds.map(({ group, plural }) => ({
    scope: "cluster",
    group,
    resource: plural,
    verbs,
    when,
    without: "configurations of queue splits on the primary do not reach its members"
  }))

export const configurationSyncRights: RightCard = {
  operator: [
    ...onKinds(["get", "list", "watch"], ["primary", "sqsSplitting"]),
    {
      scope: "cluster",
      group: "",
      resource: "events",
      verbs: ["create", "patch"],
      when: ["primary", "sqsSplitting"],
      without: "kubectl describe does not tell that a member has no copy of a configuration of queue splits"
    }
  ],
  member: onKinds(["get", "list", "watch", "create", "patch", "delete"], ["sqsSplitting"])
}

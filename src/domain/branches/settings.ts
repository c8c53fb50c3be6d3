/**
 * The settings of branches of databases.
 *
 * Not here: the two variables of each engine (app/branches/branch-environment.ts), and what the file of an engine may
 * hold (branch-settings.ts).
 */

import type { SettingCard } from "../catalogue/setting.ts"
import { defaultBounds } from "../sessions/session-bounds.ts"

export const branchSettings = {
  branchesPerNamespace: {
    variable: "OPERATOR_BRANCHES_PER_NAMESPACE",
    form: "bound",
    default: defaultBounds.branchesPerNamespace,
    value: "bounds.branchesPerNamespace",
    about: "branches of databases of one namespace at a time: [limits](../operating/policies.md#limits)"
  },
  branches: {
    variable: "OPERATOR_BRANCHES",
    form: "bound",
    default: defaultBounds.branches,
    value: "bounds.branches",
    about: "branches of databases of all namespaces at a time"
  },
  podUsers: {
    variable: "OPERATOR_POD_USERS",
    form: "truth",
    default: true,
    about:
      "whether pods of branches and migrations, and copies that need it, name their users and groups; the chart sets " +
      "it by `operator.podUsers` and `openshift`"
  },
  dataLimit: {
    variable: "OPERATOR_BRANCH_DEFAULT_DB_VOLUME_SIZE_LIMIT",
    form: "text",
    defaultText: "`1Gi`",
    value: "operator.dbBranching.databasePodVolumeLimit",
    where: "databases",
    about: "limit of a branch's data, as a quantity"
  },
  stagingLimit: {
    variable: "OPERATOR_BRANCH_DEFAULT_INIT_VOLUME_SIZE_LIMIT",
    form: "text",
    defaultText: "`1Gi`",
    value: "operator.dbBranching.initPodVolumeLimit",
    where: "databases",
    about: "limit of a branch's dump, as a quantity"
  }
} as const satisfies SettingCard

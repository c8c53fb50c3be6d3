/** The settings of copies of targets. */

import type { SettingCard } from "../catalogue/setting.ts"

export const copySettings = {
  makesCopies: {
    variable: "OPERATOR_COPY_TARGET_ENABLED",
    form: "truth",
    default: true,
    value: "operator.copyTarget.enabled",
    where: "targets",
    about:
      "whether targets are copied. Without copies jobs and cronjobs are no targets, and the operator needs " +
      "[fewer rights](../operating/security.md#the-operators-account)"
  },
  copiesUseAgentImage: {
    variable: "OPERATOR_COPY_TARGET_USE_AGENT_IMAGE",
    form: "truth",
    default: true,
    value: "operator.copyTarget.useAgentImage",
    where: "targets",
    about:
      "whether the container that sessions use has the agent's image in a copy; otherwise its own image must have a " +
      "`sleep`"
  }
} as const satisfies SettingCard

/** The settings of targets. */

import type { SettingCard } from "../catalogue/setting.ts"

export const targetSettings = {
  allowedNamespaces: {
    variable: "OPERATOR_ALLOWED_TARGET_NAMESPACES",
    form: "namespaces",
    default: [],
    value: "targets.allowedNamespaces",
    where: "targets",
    about: "protected namespaces that may hold targets all the same, separated by commas"
  }
} as const satisfies SettingCard

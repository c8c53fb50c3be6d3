/** The page of conditions. */

import { conditionCatalogue } from "../../src/domain/catalogue/conditions.ts"
import { shortKinds } from "./events.ts"
import { code, type Page, table } from "./page.ts"

export const conditions: Page = {
  file: "conditions.md",
  title: "Conditions",
  source: "src/domain/catalogue/conditions.ts",
  body: [
    "The conditions of sessions (parent, child), of the operator and of a primary's clusters. Each has `reason`, " +
      "`message`, `observedGeneration`, and a `lastTransitionTime` that moves with its status only.",
    table(
      ["on", "condition", "status", "reason", "means"],
      conditionCatalogue.map(({ means, on, reason, status, type }) => [
        shortKinds[on],
        code(type),
        status,
        code(reason),
        means
      ])
    )
  ]
}

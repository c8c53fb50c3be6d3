/** The page of settings: the variables of the operator's environment. */

import { settingCards } from "../../src/app/kernel/setting-values.ts"
import { formOf, type Setting } from "../../src/domain/catalogue/setting.ts"
import { code, type Page, table } from "./page.ts"

/** A default as the variable's text. */
const defaultOf = ({ default: value, defaultText, form }: Setting): string => {
  if (defaultText !== undefined) return defaultText
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return "–"
  return code(form === "leaseTime" ? String(Number(value) / 1000) : String(value))
}

const row = (setting: Setting): ReadonlyArray<string> => [
  code(setting.variable),
  defaultOf(setting),
  setting.value === undefined ? "–" : code(setting.value),
  setting.form === "truth" || setting.form === "words" ? "" : (formOf(setting)?.must ?? ""),
  setting.about
]

/** Variables that no card has: they are read in other ways, or belong to every engine. */
const further = [
  [
    "`HTTPS_PROXY`, `NO_PROXY`",
    "–",
    "–",
    "",
    "[the proxy](../operating/fleet.md#clusters-behind-a-proxy) for the API servers of members"
  ],
  ["`KUBECONFIG`", "–", "–", "", "path of one file; without it the pod's service account is used"],
  [
    "`OPERATOR_PG_BRANCHING` and further, one per engine",
    "`false`",
    "`operator.pgBranching` …",
    "",
    "whether [branches](../operating/branching.md) are made; those of engines that are not built are refused"
  ],
  [
    "`OPERATOR_PG_BRANCH_CONFIG` and further, one per engine",
    "–",
    "–",
    "",
    "path of [how branches are made](../operating/branching.md#values-of-the-chart); " +
      "the chart's `operator.pgBranchConfig` …"
  ]
]

const header = ["variable", "default", "chart value", "must be", "meaning"]

export const settings: Page = {
  file: "settings.md",
  title: "Settings",
  source: "the `settings.ts` of each room of src/domain",
  body: [
    "The variables of the operator's environment, with the names of the published chart. The operator ignores all " +
      "others, without a word; an empty variable counts as left out. A text that is not as the column *must be* says " +
      "is refused at the start, and by `helm template`, `helm install` and `helm lint`. Truths are `true`, `yes`, " +
      "`on`, `1` and `y`, or `false`, `no`, `off`, `0` and `n`.",
    ...Object.entries(settingCards).flatMap(([name, card]) => [
      `## ${name}`,
      table(header, Object.values(card).map(row))
    ]),
    "## Further variables",
    table(header, further)
  ]
}

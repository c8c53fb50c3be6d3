/**
 * Findings for values of the chart that are set and change nothing. The chart knows them and writes them down for
 * `braid doctor`, which does not see the values themselves.
 */

import { type Finding, warning } from "./finding.ts"

/** Key of the lines in the operator's ConfigMap, and name of their file in its pod. */
export const unusedValuesFile = "unused-values.txt"

/** `text`: a line `path: why` for each value; undefined: the chart found none. */
export const unusedValueFindings = (text: string | undefined): ReadonlyArray<Finding> =>
  (text ?? "")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) =>
      warning(
        "configuration",
        `A value of the chart has no effect: ${line}${line.endsWith("?") ? "" : "."}`,
        "Correct it or leave it out, and upgrade the release."
      )
    )

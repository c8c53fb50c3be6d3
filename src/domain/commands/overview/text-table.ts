/**
 * A table as text, in the manner of kubectl.
 *
 * Not here: the content of any table.
 */

import { cleanText, textLimits } from "../../clean-text.ts"

/** Columns as wide as their widest cell, with three blanks between and none at the end of a line. */
export const textTable = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const printable = rows.map((row) => row.map((cell) => cleanText(cell, textLimits.message) || "-"))
  const widths = printable.reduce<ReadonlyArray<number>>(
    (widest, row) => row.map((cell, index) => Math.max(widest[index] ?? 0, cell.length)),
    []
  )
  return printable.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("   ")
      .trimEnd()
  )
}

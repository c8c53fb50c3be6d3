/** Workbooks (XLSX) of tables. */

import { Effect } from "effect"
import writeXlsxFile, { type Sheet as WrittenSheet } from "write-excel-file/node"
import type { Sheet } from "../../domain/usage/usage-sheets.ts"

/** Texts are written as texts, so no cell is taken for a formula. */
const sheetOf = ({ name, rows }: Sheet): WrittenSheet<never> => ({
  sheet: name,
  data: rows.map((row) => row.map((value) => (value === null ? null : { value })))
})

export const workbook = (sheets: ReadonlyArray<Sheet>): Effect.Effect<Uint8Array> =>
  Effect.promise(() => writeXlsxFile(sheets.map(sheetOf)).toBuffer())

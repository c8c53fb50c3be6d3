/**
 * The record of use of an operator's process, by its settings. The store and the workbooks are loaded only where use is
 * recorded.
 */

import { Effect } from "effect"
import { CurrentSettings } from "../kernel/setting-values.ts"
import { version } from "../kernel/version.ts"
import type { UsageKept } from "../usage/usage-keeping.ts"

/** Where use is recorded; `undefined` if it is not. */
export const operatorUsage = Effect.map(CurrentSettings, (settings): UsageKept | undefined =>
  settings.recordsUsage
    ? {
        open: Effect.flatMap(
          Effect.promise(() => import("../../adapters/usage/usage-store.ts")),
          ({ openUsageDatabase, openUsageFile }) =>
            settings.usageDatabase === undefined
              ? openUsageFile(settings.usageFile)
              : openUsageDatabase({ url: settings.usageDatabase, authority: settings.usageDatabaseAuthority })
        ),
        workbook: (sheets) =>
          Effect.flatMap(
            Effect.promise(() => import("../../adapters/sheets/workbook.ts")),
            ({ workbook }) => workbook(sheets)
          ),
        version
      }
    : undefined
)

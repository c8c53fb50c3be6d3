/** Where the use of sessions is recorded, as the operator's settings say it. */

import { Context, type Effect, type Scope } from "effect"
import type { Sheet } from "../../domain/usage/usage-sheets.ts"
import type { UsageStore, UsageStoreError } from "../../ports/usage-store.ts"

/** The parts of a record of use. */
export interface UsageKept {
  /** Opens the store, for as long as the scope lives. */
  readonly open: Effect.Effect<UsageStore, UsageStoreError, Scope.Scope>
  /** Makes a workbook (XLSX) of sheets. */
  readonly workbook: (sheets: ReadonlyArray<Sheet>) => Effect.Effect<Uint8Array>
  /** Version of this release. */
  readonly version: string
}

/** How use is recorded; `undefined` if it is not. The operator provides it. */
export class UsageKeeping extends Context.Service<UsageKeeping, { readonly kept: UsageKept | undefined }>()(
  "braid/app/UsageKeeping"
) {}

/** Where the use of sessions is recorded, as the operator's settings say it. */

import { type Clock, Context, type Effect, type Scope } from "effect"
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

/** How use is recorded. The operator provides it. */
export class UsageKeeping extends Context.Service<
  UsageKeeping,
  {
    /** `undefined` if use is not recorded. */
    readonly kept: UsageKept | undefined
    /** The host's clock: API servers give sessions their times by theirs, and the clock of sessions never jumps. */
    readonly wall: Clock.Clock
  }
>()("braid/app/UsageKeeping") {}

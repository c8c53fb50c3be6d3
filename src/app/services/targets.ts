/**
 * Targets that sessions may have, as `Target` objects (operator-api.md §6.5). The capabilities of sessions provide
 * them.
 */

import { Context, type Effect } from "effect"
import type { ApiError } from "../api/status.ts"

export class Targets extends Context.Service<
  Targets,
  {
    /** Those of a namespace, or of the whole cluster. */
    readonly list: (namespace: string | undefined) => Effect.Effect<ReadonlyArray<object>, ApiError>
    /** `name`: as a connect URL has it. */
    readonly get: (namespace: string, name: string) => Effect.Effect<object, ApiError>
  }
>()("braid/app/Targets") {}

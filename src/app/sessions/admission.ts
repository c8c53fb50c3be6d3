/**
 * The common type of the decision whether a waiting client is let into its session. Sessions of this cluster and
 * sessions over many clusters decide it in files of their own.
 */

import type { Result } from "effect"

/** The session that can serve the client, or the final refusal; `undefined` while the decision is open. */
export type Admission<Usable, Refusal> = Result.Result<Usable, Refusal> | undefined

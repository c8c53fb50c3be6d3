/**
 * Whether a client that waits for its session is let in. Both kinds of sessions are asked this way; what admits a
 * client to either is theirs.
 */
import type { Result } from "effect"

/** What serves the client, or why it is refused for good; `undefined` while that is not decided. */
export type Admission<Usable, Refusal> = Result.Result<Usable, Refusal> | undefined

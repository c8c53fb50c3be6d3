/**
 * The common services of sessions in this cluster and of sessions over many: waiting clients, the audit of ends,
 * streams of what is stolen, and the settings of sessions. The operator provides it.
 */

import { Context } from "effect"
import type { SessionNotifier } from "../kernel/session-notifier.ts"
import type { Interceptions } from "../relay/interceptions.ts"
import type { SessionEnds } from "./session-ends.ts"

export class SessionServices extends Context.Service<
  SessionServices,
  {
    readonly notifier: SessionNotifier
    readonly ends: SessionEnds
    readonly interceptions: Interceptions
    /** The max time of a session, in seconds; `undefined` if only its client ends it. */
    readonly maxSessionSecs: number | undefined
    /** How long a session without a parent lives without a client, in seconds. */
    readonly sessionTtlSecs: number
    /** How long the target of a session may be without pods, ms; `undefined` for ever. */
    readonly podlessMillis: number | undefined
    /** Whether a primary must say which cluster it is. */
    readonly requirePrimary: boolean
  }
>()("braid/app/SessionServices") {}

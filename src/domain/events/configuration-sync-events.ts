/** The Event about a configuration of queue splits of which a member has no copy. */

import type { SessionEvent } from "./event-catalogue.ts"

/** `why`: a sentence. */
export const configurationNotCopiedEvent = (cluster: string, why: string): SessionEvent => ({
  reason: "ConfigurationNotCopied",
  message: why,
  cluster
})

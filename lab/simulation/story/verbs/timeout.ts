/** `timeout 20s`: sets how long a session may take to become ready, before the story begins. */

import { setsSeconds } from "../sets-seconds.ts"
import type { Verb } from "../verb.ts"

export const timeout: Verb = {
  name: "timeout",
  usage: "timeout <duration>",
  summary: "How long a session may take to become ready (remoteSessionTimeoutSecs).",
  kind: "setup",
  read: setsSeconds((plan, seconds) => {
    plan.remoteSessionTimeoutSecs = seconds
  })
}

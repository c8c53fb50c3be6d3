/** `ttl 20s`: sets how long a session outlives its last heartbeat, before the story begins. */

import { setsSeconds } from "../sets-seconds.ts"
import type { Verb } from "../verb.ts"

export const ttl: Verb = {
  name: "ttl",
  usage: "ttl <duration>",
  summary: "How long a session outlives its last heartbeat (sessionTtlSecs).",
  kind: "setup",
  read: setsSeconds((plan, seconds) => {
    plan.sessionTtlSecs = seconds
  })
}

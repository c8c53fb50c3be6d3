/** `reset primary b`: breaks all connections between two places; both ends are told. */

import { onLink, someLink } from "../on-link.ts"
import type { Verb } from "../verb.ts"

export const reset: Verb = {
  name: "reset",
  usage: "reset <place> <place>",
  summary: "All connections between two places break, and both ends are told.",
  kind: "act",
  read: onLink((connections, run, between) => {
    run.fault("reset", `connections between ${between} are reset`)
    for (const connection of connections) connection.reset()
  }),
  random: { weight: 3, line: someLink("reset") }
}

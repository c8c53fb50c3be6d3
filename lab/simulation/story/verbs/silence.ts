/** `silence primary b`: kills all connections between two places without telling either end (half-open). */

import { onLink, someLink } from "../on-link.ts"
import type { Verb } from "../verb.ts"

export const silence: Verb = {
  name: "silence",
  usage: "silence <place> <place>",
  summary: "All connections between two places go dead, and nobody is told (half-open).",
  kind: "act",
  read: onLink((connections, run, between) => {
    run.fault("half-open", `connections between ${between} go dead in silence`)
    for (const connection of connections) connection.goSilent()
  }),
  random: { weight: 3, line: someLink("silence") }
}

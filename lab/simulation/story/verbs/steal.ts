/** `steal s1 80`: a session's program takes over a port's traffic. */

import { listening, listens } from "../listens.ts"
import type { Verb } from "../verb.ts"

export const steal: Verb = {
  name: "steal",
  usage: "steal <session> <port> [filter <regex>]",
  summary:
    "The session's program listens on a port whose traffic is stolen; filter: only requests with such a header, " +
    "as in `x-user: ann`.",
  kind: "act",
  read: listens((port, filter) => ({
    _tag: "Steal",
    type:
      filter === undefined
        ? { _tag: "All", value: port }
        : { _tag: "FilteredHttpEx", port, filter: { _tag: "Header", value: filter } }
  })),
  random: { weight: 8, line: listening("steal") }
}

/** `mirror s1 80`: a session's program gets copies of a port's traffic. */

import { listening, listens } from "../listens.ts"
import type { Verb } from "../verb.ts"

export const mirror: Verb = {
  name: "mirror",
  usage: "mirror <session> <port> [filter <regex>]",
  summary:
    "The session's program listens on a port whose traffic is mirrored; filter: only requests with such a " +
    "header, as in `x-user: ann`.",
  kind: "act",
  read: listens((port, filter) => ({
    _tag: "Mirror",
    port,
    ...(filter === undefined ? {} : { filter: { _tag: "Header", value: filter } })
  })),
  random: { weight: 4, line: listening("mirror") }
}

/** `stop server a`: a cluster's API server goes down, until `restart server a` or `heal all`. */

import { onServer } from "../on-server.ts"
import { nothingHappens } from "../scene.ts"
import type { Verb } from "../verb.ts"

export const stop: Verb = {
  name: "stop",
  usage: "stop server <cluster>",
  summary: "A cluster's API server goes down: connections are refused, watches break.",
  kind: "act",
  read: onServer((server, run, cluster) => {
    if (server.isDown) return nothingHappens(run, `the API server of ${cluster} is down`)
    run.fault("server down", `the API server of ${cluster} goes down`)
    server.stop()
  }),
  random: { weight: 3, line: ({ places, random }) => `stop server ${random.pick(places)}` }
}

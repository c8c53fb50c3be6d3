/** `restart server a`: ends what `stop server a` began. */

import { onServer } from "../on-server.ts"
import { nothingHappens } from "../scene.ts"
import type { Verb } from "../verb.ts"

export const restart: Verb = {
  name: "restart",
  usage: "restart server <cluster>",
  summary: "A cluster's API server is up again.",
  kind: "act",
  read: onServer((server, run, cluster) => {
    if (server.isDown) server.start()
    else nothingHappens(run, `the API server of ${cluster} is up`)
  }),
  random: { weight: 3, line: ({ places, random }) => `restart server ${random.pick(places)}` }
}

/** `session s1 target deployment/myapp`: a user starts a session. */

import { Result } from "effect"
import type { ClientShape } from "../../world/sim-client.ts"
import { nothingHappens } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, oneOf, versionWord } from "../words.ts"

const shapes = ["exec", "port-forward", "dump"] as const satisfies ReadonlyArray<ClientShape>

export const session: Verb = {
  name: "session",
  usage: "session <name> [target <kind>/<name>] [user <name>] [as exec|port-forward|dump] [version <v>]",
  summary: "A user starts a session; without target: deployment/myapp.",
  kind: "act",
  read: (words) =>
    Result.gen(function* () {
      const [first, ...rest] = words
      const name = yield* nameWord(first, "a session's name")
      const left = [...rest]
      let target = "deployment.myapp"
      let user = "ann"
      let shape: ClientShape = "exec"
      let version: string | undefined
      for (let word = left.shift(); word !== undefined; word = left.shift()) {
        const value = left.shift()
        if (word === "target") {
          if (value === undefined) return yield* Result.fail("target has no value: write deployment/myapp")
          target = value.replaceAll("/", ".")
        } else if (word === "user") user = yield* nameWord(value, "a user's name")
        else if (word === "as") shape = yield* oneOf(value, shapes)
        else if (word === "version") version = yield* versionWord(value)
        else return yield* Result.fail(`${JSON.stringify(word)} is none of target, user, as, version`)
      }
      return (run) => {
        if (run.world.clients.has(name)) return nothingHappens(run, `session ${name} was there before`)
        run.world.startClient({ name, user, shape, target, ...(version === undefined ? {} : { version }) })
      }
    }),
  random: {
    weight: 6,
    line: ({ newSession, random }) =>
      [
        `session ${newSession()}`,
        random.chance(0.2) ? " user bob" : "",
        random.chance(0.1) ? ` target ${random.pick(["deployment/nothing", "targetless", "pod/myapp-1"])}` : "",
        random.chance(0.15) ? ` as ${random.pick(shapes)}` : "",
        random.chance(0.15) ? ` version ${random.pick(["1.3.1", "1.12.0", "1.19.4", "1.24.0"])}` : ""
      ].join("")
  }
}

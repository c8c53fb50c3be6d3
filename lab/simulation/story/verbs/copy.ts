/**
 * `copy c1 at b of statefulset/db scale-down`: a user starts a session on a copy of a target, in one cluster or, at the
 * primary, in all.
 */

import { Result } from "effect"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, exactly, wholeSeconds } from "../words.ts"
import { workloadWord } from "../workload-word.ts"

/** The idle time that the real client asks for, seconds. */
const defaultIdleTtl = 30

export const copy: Verb = {
  name: "copy",
  usage: "copy <name> at <cluster> [of <kind>/<name>] [scale-down] [user <name>] [idle <duration>]",
  summary:
    "A user with the kubeconfig context of a cluster starts a session on a copy, of deployment/myapp unless it is " +
    "said; at the primary: on a copy in each workload cluster; scale-down: the copy replaces the workload; idle: " +
    "how long the copy lives without a session.",
  kind: "act",
  read: (words) =>
    Result.gen(function* () {
      const [first, second, third, ...rest] = words
      const name = yield* nameWord(first, "a session's name")
      yield* exactly(second, "at")
      const cluster = yield* nameWord(third, "a cluster's name")
      const left = [...rest]
      let target: Result.Result.Success<ReturnType<typeof workloadWord>> = { kind: "deployment", name: "myapp" }
      let scaleDown = false
      let user = "ann"
      let idleTtl = defaultIdleTtl
      for (let word = left.shift(); word !== undefined; word = left.shift()) {
        if (word === "scale-down") scaleDown = true
        else if (word === "of") target = yield* workloadWord(left.shift())
        else if (word === "user") user = yield* nameWord(left.shift(), "a user's name")
        else if (word === "idle") idleTtl = yield* wholeSeconds(left.shift())
        else return yield* Result.fail(`${JSON.stringify(word)} is none of of, scale-down, user, idle`)
      }
      return (run) =>
        withCluster(run, cluster, () => {
          if (run.world.clients.has(name)) return nothingHappens(run, `session ${name} was there before`)
          run.world.startClient({
            name,
            user,
            shape: "exec",
            target: `${target.kind}.${target.name}`,
            at: cluster,
            copy: { ...target, scaleDown, idleTtl }
          })
        })
    }),
  random: {
    weight: 8,
    woven: "copies",
    line: ({ copiesAt, newSession, random }) => {
      const what = random.pick([
        "",
        "",
        "",
        " of statefulset/db",
        " of statefulset/db",
        " of job/batch",
        " of cronjob/nightly"
      ])
      const canScale = !what.includes("job")
      return [
        `copy ${newSession()} at ${copiesAt}`,
        what,
        canScale && random.chance(0.6) ? " scale-down" : "",
        random.chance(0.25) ? " user bob" : "",
        random.chance(0.1) ? ` idle ${random.pick(["60s", "100s"])}` : ""
      ].join("")
    }
  }
}

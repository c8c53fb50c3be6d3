/** `branch s1 of shop-1 ttl 60s`: a user starts a session on branches of databases. */

import { Result } from "effect"
import type { BranchWish } from "../../world/branch-order.ts"
import { branchEngineWords, forbiddenImage } from "../../world/source-databases.ts"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { duration, exactly, nameWord, oneOf, wholeSeconds } from "../words.ts"

/** How long the real client waits unless its configuration says more, ms. */
const defaultPatience = 60_000
const defaultTtl = 60

/** The words after which, or for which, a user says more. */
const options = ["at", "engine", "ttl", "waits", "user", "local", "forbidden", "migrated", "mistyped"]

/** One or two ids, such as `one+two`. */
const idWords = (word: string | undefined): Result.Result<ReadonlyArray<string>, string> =>
  Result.all((word ?? "").split("+").map((id) => nameWord(id, "the id of a branch")))

export const branch: Verb = {
  name: "branch",
  usage:
    `branch <name> of <id>[+<id>] [at <cluster>] [engine ${branchEngineWords.join("|")}] [ttl <duration>] ` +
    "[waits <duration>] [user <name>] [local] [forbidden] [migrated] [mistyped]",
  summary:
    "A user starts a session on branches of databases, at the primary unless it is said; local: with " +
    "`multi_cluster: false`; forbidden: of an image that users may not name; migrated: with migrations; mistyped: " +
    "of a variable that the workload does not have.",
  kind: "act",
  read: (words) =>
    Result.gen(function* () {
      const [first, second, third, ...rest] = words
      const name = yield* nameWord(first, "a session's name")
      yield* exactly(second, "of")
      const ids = yield* idWords(third)
      const left = [...rest]
      let wish: BranchWish = {
        ids,
        engine: "pg",
        ttlSecs: defaultTtl,
        patience: defaultPatience,
        isLocal: false,
        image: undefined,
        isMigrated: false
      }
      let at: string | undefined
      let user = "ann"
      for (let word = left.shift(); word !== undefined; word = left.shift()) {
        if (word === "at") at = yield* nameWord(left.shift(), "a cluster's name")
        else if (word === "engine") wish = { ...wish, engine: yield* oneOf(left.shift(), branchEngineWords) }
        else if (word === "ttl") wish = { ...wish, ttlSecs: yield* wholeSeconds(left.shift()) }
        else if (word === "waits") wish = { ...wish, patience: yield* duration(left.shift()) }
        else if (word === "user") user = yield* nameWord(left.shift(), "a user's name")
        else if (word === "local") wish = { ...wish, isLocal: true }
        else if (word === "forbidden") wish = { ...wish, image: forbiddenImage }
        else if (word === "migrated") wish = { ...wish, isMigrated: true }
        else if (word === "mistyped") wish = { ...wish, isMistyped: true }
        else return yield* Result.fail(`${JSON.stringify(word)} is none of ${options.join(", ")}`)
      }
      return (run) => {
        const { world } = run
        if (world.clients.has(name)) return nothingHappens(run, `session ${name} was there before`)
        if (!world.plan.branches) return nothingHappens(run, "nobody makes branches here")
        withCluster(run, at ?? world.plan.primary, ({ name: cluster }) =>
          world.startClient({ name, user, shape: "exec", target: "deployment.myapp", at: cluster, branches: wish })
        )
      }
    }),
  random: {
    weight: 9,
    woven: "branches",
    line: ({ clusters, newSession, primary, random }) => {
      const at = random.chance(0.8) ? primary : random.pick(clusters)
      return [
        `branch ${newSession()} of ${random.pick(["one", "one", "one", "two", "two", "one+two"])}`,
        at === primary ? "" : ` at ${at}`,
        random.chance(0.15) ? " engine mysql" : "",
        ` ttl ${random.pick(["5s", "60s", "60s", "100s"])}`,
        random.chance(0.1) ? " waits 5s" : "",
        random.chance(0.2) ? " user bob" : "",
        random.chance(0.06) ? " local" : "",
        random.chance(0.05) ? " forbidden" : "",
        random.chance(0.15) ? " migrated" : "",
        // Of a stream of its own, so that the draws of all other stories stay.
        random.split("mistyped").chance(0.06) ? " mistyped" : ""
      ].join("")
    }
  }
}

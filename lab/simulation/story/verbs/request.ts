/** `request a with x-user=ann → s1`: a request from outside enters the workload of a cluster. */

import { Result } from "effect"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { isArrow, nameWord, portWord } from "../words.ts"

/** How long an expected answer may take, ms. */
const patience = 10_000

const header = (word: string | undefined): Result.Result<readonly [string, string], string> => {
  const [, name, value] = /^([^=]+)=(.*)$/.exec(word ?? "") ?? []
  return name === undefined || value === undefined
    ? Result.fail(`${JSON.stringify(word ?? "")} is not a header: write x-user=ann`)
    : Result.succeed([name, value])
}

export const request: Verb = {
  name: "request",
  usage: "request <cluster> [port <n>] [with <name>=<value>] [→ <session>|workload|nobody]",
  summary: "A request enters the workload of a cluster; after an arrow: who must answer it within 10 s.",
  kind: "act",
  read: ([first, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const headers: Array<readonly [string, string]> = []
      const left = [...rest]
      let port = 80
      let wanted: string | undefined
      for (let word = left.shift(); word !== undefined; word = left.shift()) {
        const value = left.shift()
        if (word === "port") port = yield* portWord(value)
        else if (word === "with") headers.push(yield* header(value))
        else if (isArrow(word)) wanted = yield* nameWord(value, "who answers")
        else return yield* Result.fail(`${JSON.stringify(word)} is none of port, with, →`)
        if (wanted !== undefined && left.length > 0)
          return yield* Result.fail(`${JSON.stringify(left.join(" "))} is too much`)
      }
      return (run) =>
        withCluster(run, cluster, () => {
          const { world } = run
          const entered = world.request(cluster, `/${world.requests.length}`, headers, port)
          if (wanted === undefined) return
          world.passUntil(() => entered.answer !== undefined, patience)
          run.pass(0)
          const { answer } = entered
          const by =
            answer === undefined
              ? "not answered"
              : answer.by === "client"
                ? (/^from (.+): /.exec(answer.body)?.[1] ?? answer.body)
                : answer.by
          if (by !== wanted)
            run.fail(`request ${entered.id} at ${cluster} should be answered by ${wanted}, but: ${by}.`)
        })
    }),
  random: {
    weight: 14,
    line: ({ clusters, random }) => `request ${random.pick(clusters)}${random.chance(0.3) ? " with x-user=ann" : ""}`
  }
}

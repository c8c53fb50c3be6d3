/** `provide b`: a provider finds a member again, or its files are nonsense. */

import { Result } from "effect"
import { aMember } from "../draws.ts"
import { nothingHappens } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const provide: Verb = {
  name: "provide",
  usage: "provide <cluster> | provide nonsense | provide files",
  summary:
    "A member can be found again; or the files of kubeconfigs cannot be read, until they are there again or `heal " +
    "all`.",
  kind: "act",
  read: ([first, ...rest]) =>
    Result.gen(function* () {
      const word = yield* nameWord(first, "a cluster's name, nonsense or files")
      yield* nothingMore(rest)
      return (run) => {
        const { authors } = run.world
        if (word === "nonsense") {
          run.fault("kubeconfig files spoilt", "the files of kubeconfigs cannot be read")
          return authors.spoilFile()
        }
        if (word === "files") return authors.mendFiles()
        if (!authors.isFound(word)) return nothingHappens(run, `no provider finds ${word}`)
        if (authors.isProvided(word)) return nothingHappens(run, `${word} is found already`)
        run.fault("cluster found", `${word} is there to be found`)
        return authors.provide(word)
      }
    }),
  random: {
    weight: 8,
    woven: "members",
    line: (draw) =>
      draw.random.chance(0.3)
        ? draw.random.pick(["provide nonsense", "provide files"])
        : aMember(draw, (member) => `provide ${member}`)
  }
}

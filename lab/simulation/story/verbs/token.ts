/** `token b helm`: somebody changes a Secret with a member's token, or the member grants tokens that do not work. */

import { Result } from "effect"
import { canary } from "../../world/canary.ts"
import type { World } from "../../world/world.ts"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

type Change = (world: World, member: string) => void

/** Each change in words, and how it is made. */
const changes = {
  new: ["another token is in the Secret of", ({ tokenSecrets }, member) => tokenSecrets.replace(member)],
  helm: ["Helm writes its own token into the Secret of", ({ tokenSecrets }, member) => tokenSecrets.restore(member)],
  gone: ["the Secret is deleted of", ({ tokenSecrets }, member) => tokenSecrets.delete(member)],
  opaque: [
    "a token that nobody knows is in the Secret of",
    ({ tokenSecrets }, member) => tokenSecrets.spoil(member, `${canary}-opaque`)
  ],
  broken: [
    "a token with a blank in it is in the Secret of",
    ({ tokenSecrets }, member) => tokenSecrets.spoil(member, `${canary} broken`)
  ],
  forgotten: ["the renewed token is deleted of", ({ tokenSecrets }, member) => tokenSecrets.forget(member)],
  dud: ["the next token does not work of", (world, member) => world.cluster(member).tokens.grantDuds(1)]
} as const satisfies Readonly<Record<string, readonly [words: string, change: Change]>>

const names = Object.keys(changes) as ReadonlyArray<keyof typeof changes>

export const token: Verb = {
  name: "token",
  usage: `token <cluster> ${names.join("|")}`,
  summary:
    "In the Secret of a member whose tokens end: another token, Helm's own of the beginning, one that no server " +
    "knows, or one that cannot be sent; or the Secret is gone, or that of the renewed token; dud: the next token " +
    "that the member grants does not work.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const member = yield* nameWord(first, "a cluster's name")
      const name = yield* oneOf(second, names)
      yield* nothingMore(rest)
      const [words, change]: readonly [string, Change] = changes[name]
      return (run) =>
        withCluster(run, member, ({ tokens }) => {
          const { members, primary } = run.world.plan
          if (!tokens.isPlanned || member === primary || members[member] !== undefined)
            return nothingHappens(run, `${member} has no tokens that end`)
          run.fault(`token ${name}`, `${words} ${member}`)
          change(run.world, member)
        })
    }),
  random: {
    weight: 12,
    woven: "tokens",
    line: ({ clusters, primary, random }) => {
      const member = random.pick(clusters.filter((name) => name !== primary))
      return member === undefined ? undefined : `token ${member} ${random.pick(names)}`
    }
  }
}

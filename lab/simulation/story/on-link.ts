/** The common form of verbs that act on all connections between two places, such as `reset`. */

import { Result } from "effect"
import type { NetworkConnection } from "../world/network.ts"
import { aLink } from "./draws.ts"
import { withLink } from "./scene.ts"
import type { Draw, StoryRun } from "./verb.ts"
import { nameWord, nothingMore } from "./words.ts"

/** Reads the words `<place> <place>`. */
export const onLink =
  (act: (connections: ReadonlyArray<NetworkConnection>, run: StoryRun, between: string) => void) =>
  ([first, second, ...rest]: ReadonlyArray<string>): Result.Result<(run: StoryRun) => void, string> =>
    Result.gen(function* () {
      const place = yield* nameWord(first, "a cluster's or session's name")
      const other = yield* nameWord(second, "a cluster's or session's name")
      yield* nothingMore(rest)
      return (run) => withLink(run, place, other, (connections) => act(connections, run, `${place} and ${other}`))
    })

/** A random line of such a verb. */
export const someLink =
  (verb: string) =>
  (draw: Draw): string | undefined => {
    const link = aLink(draw)
    return link === undefined ? undefined : `${verb} ${link}`
  }

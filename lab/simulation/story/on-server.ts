/** The common form of verbs that act on a cluster's API server, such as `stop`. */

import { Result } from "effect"
import type { ApiServer } from "../world/sim-api-server.ts"
import { withCluster } from "./scene.ts"
import type { StoryRun } from "./verb.ts"
import { exactly, nameWord, nothingMore } from "./words.ts"

/** Reads the words `server <cluster>`. */
export const onServer =
  (act: (server: ApiServer, run: StoryRun, cluster: string) => void) =>
  ([first, second, ...rest]: ReadonlyArray<string>): Result.Result<(run: StoryRun) => void, string> =>
    Result.gen(function* () {
      yield* exactly(first, "server")
      const cluster = yield* nameWord(second, "a cluster's name")
      yield* nothingMore(rest)
      return (run) => withCluster(run, cluster, ({ server }) => act(server, run, cluster))
    })

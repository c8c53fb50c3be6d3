/**
 * A path for the folder of a playground that leaves room for the sockets of engines: a socket's path has at most 107
 * bytes, and the folders of a pod take 79 of them.
 */

import { randomBytes } from "node:crypto"
import { rmSync, symlinkSync } from "node:fs"
import { Effect, type Scope } from "effect"

const maxSocketPath = 107
/** The path of a socket below the folder, at its longest. */
const socketInPod = "/cluster-a/pods/00000000-0000-0000-0000-000000000000/copy/braid/s/.s.PGSQL.5432"

/** The folder itself where its path is short enough, and else a link in `/tmp` that goes with the scope. */
export const shortPath = (directory: string): Effect.Effect<string, never, Scope.Scope> =>
  Buffer.byteLength(directory + socketInPod) <= maxSocketPath
    ? Effect.succeed(directory)
    : Effect.acquireRelease(
        Effect.sync(() => {
          const link = `/tmp/braid-${randomBytes(4).toString("hex")}`
          symlinkSync(directory, link)
          return link
        }),
        (link) => Effect.sync(() => rmSync(link, { force: true }))
      )

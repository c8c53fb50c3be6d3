/** The files of a store as a crash after each statement would leave them. */

import { copyFileSync, existsSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import type { Connection } from "effect/sql/SqlConnection"
import { openSqlite } from "../../../src/adapters/usage/sqlite-client.ts"
import { makeUsageStore } from "../../../src/adapters/usage/usage-store.ts"
import type { UsageStore } from "../../../src/ports/usage-store.ts"

export const folder = (): string => mkdtempSync(join(tmpdir(), "braid-usage-"))

/** Paths of the images, in the order of the statements that `acts` made in a new store. */
export const crashImages = async <E>(
  acts: (store: UsageStore) => Effect.Effect<unknown, E>
): Promise<Array<string>> => {
  const path = join(folder(), "usage.db")
  const images: Array<string> = []
  // Without the log's index, which dies with the process.
  const snapshot = Effect.sync(() => {
    const image = join(folder(), "usage.db")
    for (const end of ["", "-wal"]) if (existsSync(path + end)) copyFileSync(path + end, image + end)
    images.push(image)
  })
  const watched = (connection: Connection): Connection => ({
    ...connection,
    execute: (...statement) => Effect.tap(connection.execute(...statement), snapshot),
    executeUnprepared: (...statement) => Effect.tap(connection.executeUnprepared(...statement), snapshot)
  })
  await Effect.runPromise(
    openSqlite(path, watched).pipe(Effect.flatMap(makeUsageStore), Effect.flatMap(acts), Effect.scoped)
  )
  return images
}

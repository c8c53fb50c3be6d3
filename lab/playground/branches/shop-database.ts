/** The database behind the demo workload of the default cluster: a PostgreSQL of this machine with a little content. */

import { chmodSync, chownSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { reapWithUs } from "../../cluster/node/reaper.ts"
import { PlaygroundError } from "../readiness.ts"
import { nobody, type Server, startSource } from "./postgresql.ts"

export const databaseName = "shop"
const password = "playground"
/** 20 users and 100 orders of theirs. */
export const shopContent = `
  create table users (id serial primary key, name text);
  create table orders (id serial primary key, buyer int references users);
  insert into users (name) select 'user ' || n from generate_series(1, 20) n;
  insert into orders (buyer) select 1 + n % 20 from generate_series(1, 100) n;
`

export interface ShopDatabase {
  readonly server: Server
  /** With its password, as the workload has it. */
  readonly url: string
}

/** Starts the server on an address that no pod has, and fills its database. It ends with the scope. */
export const startShopDatabase = (
  directory: string,
  address: string
): Effect.Effect<ShopDatabase, PlaygroundError, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = join(directory, "postgresql")
    mkdirSync(folder, { mode: 0o700 })
    if (nobody.uid !== undefined) chownSync(folder, nobody.uid, nobody.gid)
    // The engine is not root, and neither is it in the pods of branches.
    chmodSync(directory, 0o711)
    const attempt = <A>(run: () => Promise<A>) =>
      Effect.tryPromise({
        try: run,
        catch: (cause) =>
          new PlaygroundError({ detail: `PostgreSQL cannot be started on ${address}: ${String(cause).trim()}` })
      })
    const server = yield* Effect.acquireRelease(
      attempt(() => startSource(folder, address, password)),
      (started) => Effect.promise(() => started.stop())
    )
    const pid = Number(readFileSync(join(folder, "source", "postmaster.pid"), "utf8").split("\n")[0])
    yield* Effect.acquireRelease(
      Effect.sync(() => reapWithUs(pid)),
      (isGone) => Effect.sync(isGone)
    )
    yield* attempt(() => server.query("postgres", `create database ${databaseName}`))
    yield* attempt(() => server.query(databaseName, shopContent))
    return { server, url: `postgresql://postgres:${password}@${address}:5432/${databaseName}` }
  })

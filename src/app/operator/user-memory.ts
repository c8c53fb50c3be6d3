/**
 * Keeps the memory of users in a ConfigMap beside the operator, so that its statistics go on after a restart and under
 * another leader. Statistics hold nothing up: as long as the ConfigMap cannot be read, the operator counts by itself.
 * The form of the memory is decided in `domain/commands/overview/remembered-users.ts`.
 */

import { randomBytes } from "node:crypto"
import { Clock, Effect } from "effect"
import { changedDays, recallUsers, rememberUsers, userHash } from "../../domain/commands/overview/remembered-users.ts"
import { asObject, asString } from "../../domain/json.ts"
import { configMaps } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { writeLedger } from "../kernel/ledger.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logWarning } from "../kernel/log.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import type { UserSightings } from "./user-sightings.ts"

/** Name of the ConfigMap. */
export const userMemory = "mirrord-operator-users"

/** The least time between two calls, in ms. */
const callEvery = 60_000

interface Kept {
  readonly api: KubeApi
  readonly namespace: string
  readonly users: UserSightings
}

/** The entries of the ConfigMap. The salt is no secret: it only keeps the hashes of two installations apart. */
const read = ({ api, namespace }: Kept): Effect.Effect<Readonly<Record<string, unknown>>, KubeError> =>
  api.get(configMaps, userMemory, namespace).pipe(
    Effect.map((found) => asObject(found["data"])),
    Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed({}) : Effect.fail(error)))
  )

/** Reads the memory once, and from then on writes what has changed in it, for as long as the operator leads. */
export const keepUsers = Effect.fnUntraced(function* (kept: Kept): Effect.fn.Return<never> {
  const { api, namespace, users } = kept
  const once = new LogOnce()
  const failed = ({ message }: KubeError): Effect.Effect<undefined> =>
    Effect.as(once.tell(message, logWarning("users are not remembered", { problem: message })), undefined)
  const tried = <A>(call: Effect.Effect<A, KubeError>): Effect.Effect<A | undefined> =>
    call.pipe(Effect.tap(Effect.sync(once.reset)), Effect.catch(failed))
  let stored = yield* tried(read(kept))
  while (stored === undefined) {
    yield* Effect.sleep(callEvery)
    stored = yield* tried(read(kept))
  }
  const salt = asString(stored["salt"]) ?? randomBytes(16).toString("hex")
  const now = yield* Clock.currentTimeMillis
  users.recall(recallUsers(stored, now), (userId) => userHash(sha256Hex, salt, userId), now)
  for (;;) {
    yield* Effect.sleep(callEvery)
    const wanted = rememberUsers(users.lately(yield* Clock.currentTimeMillis))
    const changes = changedDays(wanted, stored)
    if (Object.keys(changes).length === 0) continue
    const written = writeLedger({ api, namespace, name: userMemory, kind: "users" }, { salt, ...changes })
    stored = (yield* tried(Effect.as(written, wanted))) ?? stored
  }
})

/**
 * Reads the identity of a cluster: the UID of its namespace `kube-system`.
 *
 * Not here: what follows from it (domain/fleet/cluster-identity.ts).
 */

import { Effect } from "effect"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import { identityNamespace, type ToldIdentity } from "../../domain/fleet/cluster-identity.ts"
import { namespaces } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { LogOnce } from "./log-once.ts"
import { logWarning } from "./log.ts"

/** The cluster's answer; with the role of charts of before it tells nothing. */
export const toldIdentity = (api: KubeApi): Effect.Effect<ToldIdentity, KubeError> =>
  api.get(namespaces, identityNamespace).pipe(
    Effect.map(({ metadata: { uid } }): ToldIdentity =>
      uid === undefined ? { _tag: "Untold" } : { _tag: "Uid", uid: cleanText(uid, textLimits.name) }
    ),
    Effect.catch((error): Effect.Effect<ToldIdentity, KubeError> => {
      if (error.reason === "NotFound") return Effect.succeed({ _tag: "NoNamespace" })
      return error.reason === "Forbidden" ? Effect.succeed({ _tag: "Untold" }) : Effect.fail(error)
    })
  )

/** `undefined` if the namespace may not be read or does not exist. */
export const clusterUid = (api: KubeApi): Effect.Effect<string | undefined, KubeError> =>
  Effect.map(toldIdentity(api), (told) => (told._tag === "Uid" ? told.uid : undefined))

/** Pause before the identity is asked for again. */
const askAgain = "10 seconds"

/**
 * Waits until the identity can be read: without it the copies of other primaries could not be told from ours.
 * `waiting`: the log's message meanwhile.
 */
export const knownClusterUid = (api: KubeApi, waiting: string, log = new LogOnce()): Effect.Effect<string> =>
  clusterUid(api).pipe(
    Effect.flatMap((uid) => (uid === undefined ? Effect.fail({ message: "it cannot be read" }) : Effect.succeed(uid))),
    Effect.catch(({ message }) =>
      log.tell(message, logWarning(waiting, { problem: message })).pipe(
        Effect.andThen(Effect.sleep(askAgain)),
        Effect.andThen(() => knownClusterUid(api, waiting, log))
      )
    )
  )

/**
 * Watches the Secrets with members' credentials, and notifies each cluster of changes to its own.
 *
 * Not here: what the cluster makes of them (follow-credentials.ts).
 */

import { Effect, Queue, Scope } from "effect"
import { credentialsSecretName, refreshedSecretName, type Sha256Hex } from "../../domain/fleet/cluster-name.ts"
import { credentialsLabel } from "../../domain/fleet/credentials/cluster-auth.ts"
import type { WorkloadCluster } from "../../domain/fleet/roles.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeObject } from "../../ports/kube-api.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"

/** The names of the Secrets with a member's credentials: the user's, and the operator's own. */
export interface SecretNames {
  readonly secret: string
  readonly refreshed: string
}

/** Missing if no Secret is read. */
export const secretNamesOf = ({ member }: WorkloadCluster, sha256Hex: Sha256Hex): SecretNames | undefined =>
  member === undefined || member.problems.length > 0
    ? undefined
    : {
        secret: credentialsSecretName(member.name, sha256Hex),
        refreshed: refreshedSecretName(member.name, sha256Hex)
      }

export interface CredentialWatch {
  /** The API of the operator's own cluster. */
  readonly api: KubeApi
  readonly namespace: string
  /** Ends with the fleet. */
  readonly scope: Scope.Scope
  /** The inboxes for changes of Secrets, by name of the Secret. */
  readonly inboxes: Map<string, Queue.Queue<void>>
  /** The Secrets; missing until the first cluster needs one. */
  reflector: Reflector | undefined
}

export const makeCredentialWatch = (
  options: Pick<CredentialWatch, "api" | "namespace" | "scope">
): CredentialWatch => ({ ...options, inboxes: new Map(), reflector: undefined })

/** A Secret as it is now. */
export const secretOf = ({ namespace, reflector }: CredentialWatch, name: string): KubeObject | undefined =>
  reflector?.get(name, namespace)

/** The inbox for a cluster's Secrets. */
export const openInbox = (watch: CredentialWatch, names: SecretNames): Effect.Effect<Queue.Queue<void>> =>
  Effect.map(Queue.sliding<void>(1), (changes) => {
    for (const name of Object.values(names)) watch.inboxes.set(name, changes)
    return changes
  })

export const closeInbox = ({ inboxes }: CredentialWatch, names: SecretNames | undefined): void => {
  for (const name of Object.values(names ?? {})) inboxes.delete(name)
}

const tell = ({ inboxes }: CredentialWatch, name: string): void => {
  const inbox = inboxes.get(name)
  if (inbox !== undefined) Queue.offerUnsafe(inbox, undefined)
}

/** Begins to watch. */
export const watchSecrets = (watch: CredentialWatch): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { api, inboxes, namespace } = watch
    const reflector = yield* makeReflector(api, secrets, ({ metadata }) => tell(watch, metadata.name), {
      namespace,
      labelSelector: `${credentialsLabel}=true`
    })
    watch.reflector = reflector
    // Notifies clusters whose Secret is missing from the first list.
    const tellMissing = Effect.sync(() => {
      for (const [name, inbox] of inboxes) {
        if (reflector.get(name, namespace) === undefined) Queue.offerUnsafe(inbox, undefined)
      }
    })
    yield* Effect.forkScoped(Effect.andThen(reflector.awaitSynced, () => tellMissing))
  }).pipe(Scope.provide(watch.scope))

/** Lets a cluster look at its Secrets again; the watch may have delivered them long ago. */
export const tellAgain = (watch: CredentialWatch, { secret }: SecretNames): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (watch.reflector === undefined) return watchSecrets(watch)
    if (watch.reflector.synced()) tell(watch, secret)
    return Effect.void
  })

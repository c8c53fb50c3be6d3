/**
 * Makes the pod of a branch and the Secret with its password. Each step may have been done by an earlier process, which
 * is found out by its name and its owner.
 *
 * Not here: when a pod is made (domain/branch/branch-plan.ts), and what is in it (domain/branch/branch-pod.ts).
 */

import { Effect, Redacted, Result } from "effect"
import { admittedBranch, type BranchRules } from "../../domain/branch/branch-admission.ts"
import { branchPodName } from "../../domain/branch/branch-name.ts"
import { branchPod } from "../../domain/branch/branch-pod.ts"
import { requestDigest } from "../../domain/branch/request-digest.ts"
import { asString, at } from "../../domain/json.ts"
import { branchDatabases, type BranchDatabase } from "../../domain/resources/branches/branch-database.ts"
import { pods, secrets } from "../../domain/resources/core-kinds.ts"
import type { OwnerReference } from "../../domain/resources/object-meta.ts"
import { apiVersionOf } from "../../domain/resources/resource-descriptor.ts"
import { ownerLabel } from "../../domain/session/names.ts"
import type { KubeApi, KubeError, KubeObject, ResourceRef } from "../../ports/kube-api.ts"
import { CurrentSecretBytes } from "../kernel/secret-bytes.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { BranchRefused } from "./branch-refused.ts"
import { targetTemplate } from "./target-template.ts"

const passwordBytes = 24

export interface MadeBranchPod {
  readonly pod: KubeObject
  readonly password: Redacted.Redacted
}

const ownerOf = ({ metadata: { name, uid = "" } }: BranchDatabase): OwnerReference => ({
  apiVersion: apiVersionOf(branchDatabases),
  kind: branchDatabases.kind,
  name,
  uid
})

export const isOwnedBy = ({ metadata }: KubeObject, { metadata: { uid } }: BranchDatabase): boolean =>
  metadata.ownerReferences?.some((owner) => owner.uid === uid) === true

/** The password in a branch's Secret; nothing: there is no such Secret, or it is none of this branch. */
export const readPassword = (
  api: KubeApi,
  branch: BranchDatabase
): Effect.Effect<Redacted.Redacted | undefined, KubeError> =>
  api.get(secrets, branchPodName(branch.metadata), branch.metadata.namespace).pipe(
    Effect.map((secret) => {
      const encoded = isOwnedBy(secret, branch) ? asString(at(secret, "data", "password")) : undefined
      return encoded === undefined ? undefined : Redacted.make(Buffer.from(encoded, "base64").toString("utf8"))
    }),
    Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed(undefined) : Effect.fail(error)))
  )

/** A refusal by the API server, such as for a quota, would come again. */
const refusedBy =
  (what: string) =>
  (error: KubeError): KubeError | BranchRefused =>
    error.reason === "Forbidden" || error.reason === "Invalid"
      ? new BranchRefused({ why: `${what} cannot be made: ${error.detail}.` })
      : error

const taken = ({ plural }: ResourceRef, { metadata }: BranchDatabase): BranchRefused =>
  new BranchRefused({
    why:
      `There is an object ${branchPodName(metadata)} among the ${plural} of namespace ${metadata.namespace ?? ""} ` +
      "that belongs to no branch of this name: delete it, and run the command again."
  })

const passwordSecret = (branch: BranchDatabase, password: Redacted.Redacted): object => {
  const { metadata } = branch
  return {
    apiVersion: apiVersionOf(secrets),
    kind: secrets.kind,
    metadata: {
      name: branchPodName(metadata),
      namespace: metadata.namespace,
      labels: ownerLabel,
      ownerReferences: [ownerOf(branch)]
    },
    type: "Opaque",
    immutable: true,
    data: { password: Buffer.from(Redacted.value(password)).toString("base64") }
  }
}

/** The branch's password: a new one, or that of an earlier try. */
const ensurePassword = (
  api: KubeApi,
  branch: BranchDatabase
): Effect.Effect<Redacted.Redacted, KubeError | BranchRefused> =>
  Effect.gen(function* () {
    const bytes = (yield* CurrentSecretBytes)(passwordBytes)
    const password = Redacted.make(Buffer.from(bytes).toString("base64url"))
    const { namespace } = branch.metadata
    const found = yield* api.create(secrets, passwordSecret(branch, password), namespace).pipe(
      Effect.as(password),
      Effect.catch((error) =>
        error.reason === "AlreadyExists"
          ? readPassword(api, branch)
          : Effect.fail(refusedBy("The branch's Secret")(error))
      )
    )
    return found ?? (yield* taken(secrets, branch))
  })

const ensurePod = (
  api: KubeApi,
  branch: BranchDatabase,
  pod: object
): Effect.Effect<KubeObject, KubeError | BranchRefused> => {
  const { metadata } = branch
  return api.create(pods, pod, metadata.namespace).pipe(
    Effect.catch((error) =>
      error.reason === "AlreadyExists"
        ? api.get(pods, branchPodName(metadata), metadata.namespace)
        : Effect.fail(refusedBy("The branch's pod")(error))
    ),
    Effect.filterOrFail(
      (found) => isOwnedBy(found, branch),
      () => taken(pods, branch)
    )
  )
}

/** Makes what is missing of a branch's pod and Secret. */
export const makeBranchPod = (
  api: KubeApi,
  rules: BranchRules,
  branch: BranchDatabase
): Effect.Effect<MadeBranchPod, KubeError | BranchRefused> =>
  Effect.gen(function* () {
    const refused = (why: string) => new BranchRefused({ why })
    const { metadata, spec } = branch
    const { namespace = "" } = metadata
    const { request, settings } = yield* Effect.fromResult(Result.mapError(admittedBranch(rules, branch), refused))
    const template = yield* targetTemplate(api, namespace, spec.target)
    const digest = requestDigest(request, sha256Hex)
    const options = { name: branchPodName(metadata), namespace, owner: ownerOf(branch), request, digest, template }
    const wanted = yield* Effect.fromResult(Result.mapError(branchPod(settings.pod, options), refused))
    const password = yield* ensurePassword(api, branch)
    return { pod: yield* ensurePod(api, branch, wanted), password }
  })

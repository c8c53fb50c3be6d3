/**
 * Makes the pod of a branch and the Secret with its password, and reads the target by which the branch finds its
 * source. Each step may have been done by an earlier process, which is found out by its name and its owner.
 *
 * Not here: when a pod is made (domain/branches/branch-plan.ts), and what is in it (domain/branches/branch-pod.ts).
 */

import { Data, Effect, Redacted, Result } from "effect"
import { programsOf } from "../../adapters/engines/programs.ts"
import { admittedBranch, type BranchRules } from "../../domain/branches/branch-admission.ts"
import { credentialsSecrets } from "../../domain/branches/branch-credentials.ts"
import type { BranchKind } from "../../domain/branches/branch-kinds.ts"
import { branchPodName } from "../../domain/branches/branch-name.ts"
import { branchPod } from "../../domain/branches/branch-pod.ts"
import type { BranchRequest } from "../../domain/branches/branch-request.ts"
import { requestDigest } from "../../domain/branches/request-digest.ts"
import type { SourceTarget } from "../../domain/branches/source-environment.ts"
import { quoted } from "../../domain/clean-text.ts"
import { asString, at } from "../../domain/json.ts"
import type { BranchDatabase } from "../../domain/resources/branches/branch-database.ts"
import { pods, secrets } from "../../domain/resources/core-kinds.ts"
import type { OwnerReference } from "../../domain/resources/object-meta.ts"
import { apiVersionOf } from "../../domain/resources/resource-descriptor.ts"
import { explainFailure } from "../../domain/resources/session-failure.ts"
import type { KubeResourceTarget } from "../../domain/resources/session-shapes.ts"
import { ownerLabel } from "../../domain/sessions/names.ts"
import { fromKubeTarget } from "../../domain/targets/kube-target.ts"
import { templateSource } from "../../domain/targets/pod-template.ts"
import { type TargetError, targetFailure } from "../../domain/targets/target-errors.ts"
import { formatTargetPath } from "../../domain/targets/target-path.ts"
import { kindAddress, type TargetKind } from "../../domain/targets/target.ts"
import { type KubeApi, KubeError, type KubeObject, type ResourceRef } from "../../ports/kube-api.ts"
import { orIf } from "../kernel/or-if.ts"
import { CurrentSecretBytes } from "../kernel/secret-bytes.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import type { OfferedCredentials } from "./offered-credentials.ts"

/** `why`: a sentence for the user, which becomes the branch's `status.error`. */
export class BranchRefused extends Data.TaggedError("BranchRefused")<{ readonly why: string }> {}

interface LookUp {
  readonly api: KubeApi
  readonly namespace: string
  /** The target as its user names it. */
  readonly path: string
  readonly target: { readonly kind: TargetKind }
}

const get = (
  { api, namespace, path, target }: LookUp,
  kind: TargetKind,
  name: string
): Effect.Effect<KubeObject, KubeError | BranchRefused> =>
  Effect.mapError(api.get({ ...kindAddress(kind), scope: "Namespaced" }, name, namespace), (error) => {
    const { detail, reason } = error
    if (reason !== "NotFound" && reason !== "Forbidden") return error
    const missing: TargetError =
      kind === target.kind
        ? { _tag: "NoSuchTarget", target: path, namespace }
        : { _tag: "NoSuchReference", target: path, reference: `${kind}/${name}`, namespace }
    const failure = targetFailure(reason === "Forbidden" ? { _tag: "Forbidden", target: path, detail } : missing)
    return new BranchRefused({ why: explainFailure(undefined, failure) })
  })

/** A target in a namespace. A target without a pod template, or that is not there, refuses the branch. */
export const sourceTarget = Effect.fnUntraced(function* (
  api: KubeApi,
  namespace: string,
  wanted: KubeResourceTarget
): Effect.fn.Return<SourceTarget, KubeError | BranchRefused> {
  const target = fromKubeTarget(wanted)
  if (target?._tag !== "Workload") {
    const found = quoted(`${wanted.kind} ${wanted.name}`)
    const why = `spec.target is ${found}; it must be a workload, such as a Deployment.`
    return yield* new BranchRefused({ why })
  }
  const { container } = target
  const path = formatTargetPath(target)
  const lookUp = { api, namespace, path, target }
  const noTemplate = new BranchRefused({
    why: `spec.target is ${path}, which has no pod template: name a workload that makes pods.`
  })
  const source = templateSource(target.kind, yield* get(lookUp, target.kind, target.name))
  if (source === undefined) return yield* noTemplate
  if (source._tag === "Template") return { template: source.template, container }
  const referred = templateSource(source.kind, yield* get(lookUp, source.kind, source.name))
  return referred?._tag === "Template" ? { template: referred.template, container } : yield* noTemplate
})

const passwordBytes = 24

export interface MadeBranchPod {
  readonly pod: KubeObject
  readonly password: Redacted.Redacted
}

/** The parts that pods of branches are made with. */
export interface PodMaking {
  readonly api: KubeApi
  readonly rules: BranchRules
  /** The kind of the branch's resource. */
  readonly kind: BranchKind
  /** The values that clients have sent for branches. */
  readonly offered: OfferedCredentials
}

export const ownerOf = (
  { kind: { resource } }: Pick<PodMaking, "kind">,
  { metadata: { name, uid = "" } }: BranchDatabase
): OwnerReference => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
  name,
  uid
})

export const isOwnedBy = ({ metadata }: KubeObject, { metadata: { uid } }: Pick<BranchDatabase, "metadata">): boolean =>
  metadata.ownerReferences?.some((owner) => owner.uid === uid) === true

/** The password in a branch's Secret; `undefined` if there is no such Secret, or it is none of this branch. */
export const readPassword = (
  api: KubeApi,
  branch: BranchDatabase
): Effect.Effect<Redacted.Redacted | undefined, KubeError> =>
  api.get(secrets, branchPodName(branch.metadata), branch.metadata.namespace).pipe(
    Effect.map((secret) => {
      const encoded = isOwnedBy(secret, branch) ? asString(at(secret, "data", "password")) : undefined
      return encoded === undefined ? undefined : Redacted.make(Buffer.from(encoded, "base64").toString("utf8"))
    }),
    orIf("NotFound", Effect.undefined)
  )

const isRefusal = ({ code = 0, reason }: KubeError): boolean =>
  reason === "Forbidden" || reason === "Invalid" || (reason === "Other" && code >= 400 && code < 500)

/** A refusal by the API server, such as for a quota, would come again. */
const refusedBy =
  (what: string) =>
  (error: KubeError): KubeError | BranchRefused =>
    isRefusal(error) ? new BranchRefused({ why: `${what} cannot be made: ${error.detail}.` }) : error

const taken = ({ plural }: ResourceRef, { metadata }: BranchDatabase, name: string): BranchRefused =>
  new BranchRefused({
    why:
      `There is an object ${name} among the ${plural} of namespace ${metadata.namespace ?? ""} ` +
      "that belongs to no branch of this name: delete it, and run the command again."
  })

/** Another branch has them, or the operator was started again before this one was made. */
const forgotten = (name: string): BranchRefused =>
  new BranchRefused({
    why:
      `The values for the Secret ${name}, which the client has sent to the operator, are not there any more: run the ` +
      "command again."
  })

/** Makes a Secret that is the branch's own. */
const createSecret = (
  making: PodMaking,
  branch: BranchDatabase,
  name: string,
  values: ReadonlyMap<string, Redacted.Redacted>
): Effect.Effect<KubeObject, KubeError> => {
  const { namespace } = branch.metadata
  const encoded = (value: Redacted.Redacted) => Buffer.from(Redacted.value(value)).toString("base64")
  const secret = {
    apiVersion: apiVersionOf(secrets),
    kind: secrets.kind,
    metadata: { name, namespace, labels: ownerLabel, ownerReferences: [ownerOf(making, branch)] },
    type: "Opaque",
    immutable: true,
    data: Object.fromEntries([...values].map(([key, value]) => [key, encoded(value)]))
  }
  return making.api.create(secrets, secret, namespace)
}

/** The branch's password: a new one, or that of an earlier try. */
const ensurePassword = Effect.fnUntraced(function* (
  making: PodMaking,
  branch: BranchDatabase
): Effect.fn.Return<Redacted.Redacted, KubeError | BranchRefused> {
  const bytes = (yield* CurrentSecretBytes)(passwordBytes)
  const password = Redacted.make(Buffer.from(bytes).toString("base64url"))
  const name = branchPodName(branch.metadata)
  const found = yield* createSecret(making, branch, name, new Map([["password", password]])).pipe(
    Effect.as(password),
    Effect.catch((error) => (error.reason === "AlreadyExists" ? readPassword(making.api, branch) : Effect.fail(error))),
    Effect.mapError(refusedBy("The branch's Secret"))
  )
  return found ?? (yield* taken(secrets, branch, name))
})

/** The Secrets of the values that the client has sent for this very branch; they are as old as the branch is. */
const ensureCredentials = (
  making: PodMaking,
  branch: BranchDatabase,
  { connection }: BranchRequest
): Effect.Effect<void, KubeError | BranchRefused> =>
  Effect.forEach(
    credentialsSecrets(connection),
    (name) => {
      const { api, offered } = making
      const { namespace = "" } = branch.metadata
      const values = offered.find(namespace, name)
      const made = values === undefined ? api.get(secrets, name, namespace) : createSecret(making, branch, name, values)
      return made.pipe(
        Effect.catch((error) => {
          if (error.reason === "AlreadyExists") return api.get(secrets, name, namespace)
          if (error.reason === "NotFound" && values === undefined) return Effect.fail(forgotten(name))
          return Effect.fail(refusedBy("The branch's Secret")(error))
        }),
        Effect.filterOrFail(
          (found) => isOwnedBy(found, branch),
          () => forgotten(name)
        ),
        Effect.andThen(offered.forget(name))
      )
    },
    { discard: true }
  )

/** An object that is to be a branch's own. `what`: its name in a sentence. */
interface OwnObject {
  readonly resource: ResourceRef
  readonly name: string
  readonly object: object
  readonly what: string
}

/** Makes an object that belongs to a branch, or finds that of an earlier try. */
export const ensureOwn = (
  api: KubeApi,
  branch: BranchDatabase,
  { name, object, resource, what }: OwnObject
): Effect.Effect<KubeObject, KubeError | BranchRefused> => {
  const { namespace } = branch.metadata
  return api.create(resource, object, namespace).pipe(
    Effect.catch((error) =>
      error.reason === "AlreadyExists" ? api.get(resource, name, namespace) : Effect.fail(error)
    ),
    Effect.mapError(refusedBy(what)),
    Effect.filterOrFail(
      (found) => isOwnedBy(found, branch),
      () => taken(resource, branch, name)
    )
  )
}

/** Makes what is missing of a branch's pod and Secret. */
export const makeBranchPod = Effect.fnUntraced(function* (
  making: PodMaking,
  branch: BranchDatabase
): Effect.fn.Return<MadeBranchPod, KubeError | BranchRefused> {
  const { api, kind, rules } = making
  const refused = (why: string) => new BranchRefused({ why: kind.inOwnWords(why) })
  const { metadata, spec } = branch
  const { namespace = "" } = metadata
  const { request, settings } = yield* Effect.fromResult(Result.mapError(admittedBranch(rules, branch), refused))
  const target = yield* sourceTarget(api, namespace, spec.target)
  const digest = requestDigest(request, sha256Hex)
  const options = {
    name: branchPodName(metadata),
    namespace,
    owner: ownerOf(making, branch),
    request,
    programs: programsOf(request.dialect),
    digest,
    ...target
  }
  const wanted = yield* Effect.fromResult(Result.mapError(branchPod(settings.pod, options), refused))
  yield* ensureCredentials(making, branch, request)
  const password = yield* ensurePassword(making, branch)
  const pod = { resource: pods, name: options.name, object: wanted, what: "The branch's pod" }
  return { pod: yield* ensureOwn(api, branch, pod), password }
})

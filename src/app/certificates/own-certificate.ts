/**
 * Keeps the operator's own serving certificate: in a Secret that all replicas share, and its authority in the
 * APIService, by which the API server knows the operator.
 *
 * Not here: when it is renewed (domain/fleet/credentials/serving-renewal.ts), and watching it (certificate-watch.ts).
 */

import { Clock, Effect, Redacted, Result } from "effect"
import {
  makeServingCertificate,
  readServingLife,
  type SignedServingCertificate
} from "../../adapters/x509/serving-certificate.ts"
import { decodeBase64Text, encodeBase64Text } from "../../domain/fleet/credentials/base64.ts"
import {
  type ServingLife,
  servingLife,
  type ServingStep,
  servingStep
} from "../../domain/fleet/credentials/serving-renewal.ts"
import { type ApiService, apiServices, type Secret, secrets } from "../../domain/resources/core-kinds.ts"
import { operatorApiService } from "../../domain/resources/operator-api.ts"
import { readResource, type ResourceDescriptor } from "../../domain/resources/resource-descriptor.ts"
import { ownerLabel } from "../../domain/sessions/names.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../ports/kube-api.ts"
import { logInfo } from "../kernel/log.ts"

export const ownCertificateSecret = "mirrord-operator-serving"

/** How long the API server may take, so that a process that starts does not wait for it much longer. */
const patience = "5 seconds"

interface KeptCertificate extends SignedServingCertificate {
  readonly life: ServingLife
}

/** The content of the Secret, as far as it can be used. */
interface Kept {
  readonly resourceVersion: string | undefined
  readonly current: KeptCertificate | undefined
  readonly successor: KeptCertificate | undefined
  /** The authority of the certificate that was served before, which other replicas may still serve. PEM. */
  readonly formerAuthority: string | undefined
}

/** The keys of a certificate in the Secret: those of the served one are the ones that Kubernetes prescribes. */
const keysOf = {
  current: { authority: "ca.crt", certificate: "tls.crt", key: "tls.key" },
  successor: { authority: "next-ca.crt", certificate: "next.crt", key: "next.key" }
} as const
const formerKey = "former-ca.crt"
type Part = keyof typeof keysOf

const dataOf = (part: Part, { authorityPem, certificatePem, keyPem }: SignedServingCertificate): object => ({
  [keysOf[part].authority]: encodeBase64Text(authorityPem),
  [keysOf[part].certificate]: encodeBase64Text(certificatePem),
  [keysOf[part].key]: encodeBase64Text(Redacted.value(keyPem))
})
/** Takes a certificate out of the Secret in a merge patch. */
const without = (part: Part): object => Object.fromEntries(Object.values(keysOf[part]).map((key) => [key, null]))

const textIn = ({ data }: Secret, key: string): string | undefined =>
  Result.getOrUndefined(decodeBase64Text(data?.[key] ?? "")) || undefined

const keptIn = (secret: Secret, part: Part, host: string): KeptCertificate | undefined => {
  const { authority, certificate, key } = keysOf[part]
  const [authorityPem, certificatePem, keyText] = [authority, certificate, key].map((name) => textIn(secret, name))
  if (authorityPem === undefined || certificatePem === undefined || keyText === undefined) return undefined
  const signed = { authorityPem, certificatePem, keyPem: Redacted.make(keyText) }
  const life = readServingLife(signed, host)
  return life === undefined ? undefined : { ...signed, life }
}

const readAs = <T>(cluster: string, kind: ResourceDescriptor<T>, object: KubeObject): Effect.Effect<T, KubeError> =>
  Effect.fromResult(readResource(kind, object)).pipe(
    Effect.mapError(
      ({ message }) => new KubeError({ cluster, operation: `read ${kind.kind}`, reason: "Invalid", detail: message })
    )
  )

const readKept = (api: KubeApi, namespace: string, host: string): Effect.Effect<Kept | undefined, KubeError> =>
  api.get(secrets, ownCertificateSecret, namespace).pipe(
    Effect.flatMap((object) => readAs(api.cluster, secrets, object)),
    Effect.map((secret): Kept => ({
      resourceVersion: secret.metadata.resourceVersion,
      current: keptIn(secret, "current", host),
      successor: keptIn(secret, "successor", host),
      formerAuthority: textIn(secret, formerKey)
    })),
    Effect.catch((error) => (error.reason === "NotFound" ? Effect.undefined : Effect.fail(error)))
  )

/** The authorities that the API server has to trust, one PEM bundle. */
const bundleOf = ({ current, formerAuthority = "", successor }: Kept): string =>
  `${current?.authorityPem ?? ""}${successor?.authorityPem ?? ""}${formerAuthority}`

/** One turn's view of the cluster. */
interface Turn {
  readonly api: KubeApi
  readonly namespace: string
  /** The name in the certificate: an API server dials a Service by this name. */
  readonly host: string
  readonly now: number
}

const write = ({ api, namespace }: Turn, kept: Kept | undefined, data: object): Effect.Effect<void, KubeError> =>
  Effect.asVoid(
    kept === undefined
      ? api.create(
          secrets,
          {
            apiVersion: "v1",
            kind: "Secret",
            type: "kubernetes.io/tls",
            metadata: { name: ownCertificateSecret, namespace, labels: ownerLabel },
            data
          },
          namespace
        )
      : api.mergePatch(
          secrets,
          ownCertificateSecret,
          { metadata: { resourceVersion: kept.resourceVersion }, data },
          { namespace }
        )
  )

const made = ({ host, now }: Turn): Effect.Effect<KeptCertificate> => {
  const life = servingLife(now)
  return Effect.map(
    Effect.promise(() => makeServingCertificate([host], life)),
    (signed) => ({ ...signed, life })
  )
}

const untilText = ({ life }: KeptCertificate): string => new Date(life.until).toISOString()

/** The Secret with a certificate to serve. */
type Served = Kept & { readonly current: KeptCertificate }

const makeFirst = Effect.fnUntraced(function* (
  turn: Turn,
  kept: Kept | undefined
): Effect.fn.Return<Served, KubeError> {
  const current = yield* made(turn)
  const removed = kept === undefined ? {} : { ...without("successor"), [formerKey]: null }
  yield* write(turn, kept, { ...dataOf("current", current), ...removed })
  yield* logInfo("the operator has made its own serving certificate", { until: untilText(current) })
  return { resourceVersion: undefined, current, successor: undefined, formerAuthority: undefined }
})

const prepare = Effect.fnUntraced(function* (turn: Turn, kept: Served): Effect.fn.Return<Served, KubeError> {
  const successor = yield* made(turn)
  yield* write(turn, kept, { ...dataOf("successor", successor), [formerKey]: null })
  yield* logInfo("the serving certificate has a successor, which the API server is to trust first", {
    until: untilText(successor)
  })
  return { ...kept, successor, formerAuthority: undefined }
})

const promote = (turn: Turn, kept: Served, successor: KeptCertificate): Effect.Effect<Served, KubeError> => {
  const formerAuthority = kept.current.authorityPem
  const data = {
    ...dataOf("current", successor),
    ...without("successor"),
    [formerKey]: encodeBase64Text(formerAuthority)
  }
  return Effect.as(write(turn, kept, data), { ...kept, current: successor, successor: undefined, formerAuthority })
}

/** Carries out a step of the renewal in the Secret, and gives what it holds then. */
const carryOut = (turn: Turn, step: ServingStep, kept: Kept | undefined): Effect.Effect<Served, KubeError> => {
  if (kept?.current === undefined || step === "Make") return makeFirst(turn, kept)
  const served = { ...kept, current: kept.current }
  if (step === "Prepare") return prepare(turn, served)
  return step === "Promote" && kept.successor !== undefined
    ? promote(turn, served, kept.successor)
    : Effect.succeed(served)
}

const publish = (api: KubeApi, { metadata }: ApiService, caBundle: string): Effect.Effect<void, KubeError> =>
  api
    .mergePatch(apiServices, operatorApiService, {
      metadata: { resourceVersion: metadata.resourceVersion },
      // The API server takes only one of the two.
      spec: { caBundle, insecureSkipTLSVerify: null }
    })
    .pipe(Effect.andThen(logInfo("the API server is told whose certificates the operator serves with")))

/**
 * The certificate to serve with now, from the Secret. Renews it when it is time, and sees to it that the API server
 * trusts its authority. Any replica may do it at any time: who writes second gets a conflict and reads again.
 */
export const ownServingCertificate = (
  api: KubeApi,
  namespace: string
): Effect.Effect<SignedServingCertificate, KubeError> =>
  Effect.gen(function* () {
    const service = yield* Effect.flatMap(api.get(apiServices, operatorApiService), (object) =>
      readAs(api.cluster, apiServices, object)
    )
    const { service: backend, caBundle: trusted } = service.spec
    const host = `${backend.name}.${backend.namespace}.svc`
    const kept = yield* readKept(api, namespace, host)
    const isTrusted = kept !== undefined && trusted === encodeBase64Text(bundleOf(kept))
    const now = yield* Clock.currentTimeMillis
    const step = servingStep({ current: kept?.current?.life, successor: kept?.successor?.life, isTrusted }, now)
    const next = yield* carryOut({ api, namespace, host, now }, step, kept)
    const caBundle = encodeBase64Text(bundleOf(next))
    if (caBundle !== trusted) yield* publish(api, service, caBundle)
    return next.current
  }).pipe(
    Effect.retry({ times: 3, while: ({ reason }) => reason === "Conflict" || reason === "AlreadyExists" }),
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () =>
        Effect.fail(
          new KubeError({
            cluster: api.cluster,
            operation: `read Secret ${ownCertificateSecret} and APIService ${operatorApiService}`,
            reason: "Unreachable",
            detail: `no answer within ${patience}`
          })
        )
    })
  )

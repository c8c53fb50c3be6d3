/**
 * Keeps the serving certificate up to date while the operator runs, from its files or from the operator's own Secret.
 * The API's server shows it.
 */

import { createPrivateKey, X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createSecureContext } from "node:tls"
import { Clock, type Duration, Effect, Redacted, type Scope } from "effect"
import { makeServingCertificate } from "../../adapters/x509/serving-certificate.ts"
import { servingLife } from "../../domain/fleet/credentials/serving-renewal.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { type ServingCertificate, type ServingCertificateSource, unchanging } from "../api/served-certificate.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { ownServingCertificate } from "./own-certificate.ts"

/** How often the certificate is read. Kubelets themselves take up to two minutes to update files. */
const pollInterval: Duration.Input = "30 seconds"
/** How soon it is read again after it could not be used: at an install, the APIService comes last. */
const pollAfterProblem: Duration.Input = "3 seconds"

interface Problem {
  readonly message: string
}

const problemOf = (cause: unknown): Problem => ({
  message: `the serving certificate cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`
})

/** Fails unless the server could use the certificate and the key together. */
const usable = (found: ServingCertificate): Effect.Effect<X509Certificate, Problem> =>
  Effect.try({
    try: () => {
      const { certificatePem, keyPem } = found
      // Checked apart, because the context treats an empty text as no key.
      createPrivateKey(Redacted.value(keyPem))
      const certificate = new X509Certificate(certificatePem)
      createSecureContext({ cert: certificatePem, key: Redacted.value(keyPem) })
      return certificate
    },
    catch: problemOf
  })

/** Where the certificate of the port comes from. */
interface CertificateOptions {
  /** Files of an installation's own certificate, if there are any. */
  readonly certificate: { readonly certificatePath: string; readonly keyPath: string } | undefined
  /** Namespace of the operator. */
  readonly namespace: string
  /** Without files: keep a certificate in a Secret, whose authority the APIService names. */
  readonly ownCertificate: boolean
}

/** The PEM files as they are now. */
export const readCertificateFiles = ({
  certificatePath,
  keyPath
}: NonNullable<CertificateOptions["certificate"]>): Effect.Effect<ServingCertificate, Problem> => {
  const read = (path: string) => Effect.tryPromise({ try: () => readFile(path, "utf8"), catch: problemOf })
  return Effect.all({
    certificatePem: read(certificatePath),
    keyPem: Effect.map(read(keyPath), (text) => Redacted.make(text))
  })
}

const isSame = (a: ServingCertificate, b: ServingCertificate): boolean =>
  a.certificatePem === b.certificatePem && Redacted.value(a.keyPem) === Redacted.value(b.keyPem)

/**
 * Keeps the certificate current by reading it again and again while the scope lives: a kubelet exchanges links to
 * folders, which file systems do not report reliably. An unreadable or unfitting certificate changes nothing later; at
 * the start `otherwise` takes its place, or the start fails.
 */
export const watchServingCertificate = Effect.fnUntraced(function* (
  read: Effect.Effect<ServingCertificate, Problem>,
  otherwise?: Effect.Effect<ServingCertificate>
): Effect.fn.Return<ServingCertificateSource, Problem, Scope.Scope> {
  const listeners = new Set<() => void>()
  const problems = new LogOnce()
  const told = ({ message }: Problem) =>
    problems.tell(message, logWarning("the old serving certificate stays", { problem: message }))
  let known = yield* Effect.tap(read, usable).pipe(
    Effect.catch((problem) =>
      otherwise === undefined ? Effect.fail(problem) : Effect.andThen(told(problem), otherwise)
    )
  )
  const reload = Effect.gen(function* () {
    const found = yield* read
    if (!isSame(found, known)) {
      const { validToDate } = yield* usable(found)
      known = found
      for (const listener of listeners) listener()
      yield* logInfo("a renewed serving certificate is served", { until: validToDate.toISOString() })
    }
    problems.reset()
    return pollInterval
  }).pipe(Effect.catch((problem) => Effect.as(told(problem), pollAfterProblem)))
  let pause = otherwise === undefined ? pollInterval : pollAfterProblem
  const next = Effect.suspend(() => Effect.sleep(pause)).pipe(
    Effect.andThen(reload),
    Effect.map((until) => void (pause = until))
  )
  yield* Effect.forkScoped(Effect.forever(next))
  yield* Effect.addFinalizer(() => Effect.sync(() => listeners.clear()))
  return { known: () => known, listen: (listener) => void listeners.add(listener) }
})

/** A certificate that no API server trusts. */
const temporaryCertificate = (namespace: string): Effect.Effect<ServingCertificate> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.promise(() =>
      makeServingCertificate(["mirrord-operator", `mirrord-operator.${namespace}.svc`], servingLife(now))
    )
  )

/**
 * The certificate in the files of the settings; or the operator's own, which the API server learns; or one that is made
 * now, for API servers that do not check it.
 */
export const servingCertificate = (
  { certificate, namespace, ownCertificate }: CertificateOptions,
  api: KubeApi
): Effect.Effect<ServingCertificateSource, Problem, Scope.Scope> => {
  if (certificate !== undefined) return watchServingCertificate(readCertificateFiles(certificate))
  const temporary = temporaryCertificate(namespace)
  return ownCertificate
    ? watchServingCertificate(ownServingCertificate(api, namespace), temporary)
    : Effect.map(temporary, unchanging)
}

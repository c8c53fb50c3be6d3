/**
 * Keeps the serving certificate, from its files or self-signed, up to date while the operator runs. The API's server
 * shows it.
 */

import { createPrivateKey, X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createSecureContext } from "node:tls"
import { Clock, Effect, Redacted, type Scope } from "effect"
import { makeServingCertificate } from "../../adapters/x509/self-signed-certificate.ts"
import { type ServingCertificate, type ServingCertificateSource, unchanging } from "../api/served-certificate.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import type { Settings } from "./settings.ts"

/** How often the files are read. Kubelets themselves take up to two minutes to update them. */
const pollInterval = "30 seconds"

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

/** The PEM files as they are now. */
export const readCertificateFiles = ({
  certificatePath,
  keyPath
}: NonNullable<Settings["certificate"]>): Effect.Effect<ServingCertificate, Problem> => {
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
 * folders, which file systems do not report reliably. The certificate must be usable at the start; later an unreadable
 * or unfitting one changes nothing.
 */
export const watchServingCertificate = (
  read: Effect.Effect<ServingCertificate, Problem>
): Effect.Effect<ServingCertificateSource, Problem, Scope.Scope> =>
  Effect.gen(function* () {
    const listeners = new Set<() => void>()
    let known = yield* read
    yield* usable(known)
    const problems = new LogOnce()
    const reload = Effect.gen(function* () {
      const found = yield* read
      if (!isSame(found, known)) {
        const { validToDate } = yield* usable(found)
        known = found
        for (const listener of listeners) listener()
        yield* logInfo("a renewed serving certificate is served", { until: validToDate.toISOString() })
      }
      problems.reset()
    }).pipe(
      Effect.catch(({ message }) =>
        problems.tell(message, logWarning("the old serving certificate stays", { problem: message }))
      )
    )
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(pollInterval), reload)))
    yield* Effect.addFinalizer(() => Effect.sync(() => listeners.clear()))
    return { known: () => known, listen: (listener) => void listeners.add(listener) }
  })

/** The certificate in the files of the settings, or a self-signed certificate that is made now. */
export const servingCertificate = (
  settings: Pick<Settings, "certificate" | "namespace">
): Effect.Effect<ServingCertificateSource, Problem, Scope.Scope> =>
  settings.certificate === undefined
    ? Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.promise(() =>
          makeServingCertificate(["mirrord-operator", `mirrord-operator.${settings.namespace}.svc`], now)
        )
      ).pipe(Effect.map(({ certificatePem, keyPem }) => unchanging({ certificatePem, keyPem: Redacted.make(keyPem) })))
    : watchServingCertificate(readCertificateFiles(settings.certificate))

import * as Result from "effect/Result"
import { readTlsSteal, type TlsStealRules } from "../../../../src/domain/policies/tls/tls-steal-rules.ts"
import { mirrordTlsStealConfigs } from "../../../../src/domain/resources/policies/mirrord-tls-steal-configs.ts"
import { readResource } from "../../../../src/domain/resources/resource-descriptor.ts"

/** A port's entry with nothing but what must be there. */
export const portTls = (port: number, more: object = {}): object => ({
  port,
  agentAsServer: { authentication: { certPem: "/tls/cert.pem", keyPem: "/tls/key.pem" } },
  agentAsClient: { verification: { acceptAnyCert: true } },
  ...more
})

/** A configuration as the API server has it. Without a namespace it is one of the cluster. */
export const tlsConfig = (spec: object, name = "t", namespace?: string): TlsStealRules => {
  const raw = { metadata: { name, ...(namespace === undefined ? {} : { namespace }) }, spec }
  const read = readResource(mirrordTlsStealConfigs, raw)
  if (Result.isFailure(read)) throw new Error(read.failure.message)
  return readTlsSteal(read.success, raw, namespace === undefined ? name : `${namespace}/${name}`)
}

/** Why its ports cannot be used. */
export const problemOf = (rules: TlsStealRules): string | undefined =>
  Result.isFailure(rules.ports) ? rules.ports.failure : undefined

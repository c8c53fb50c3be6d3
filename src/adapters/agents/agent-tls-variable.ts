/**
 * The variable by which an agent gets the TLS ports of its target: written into its container, and read from one.
 *
 * Not here: which ports there are (domain/policies/tls).
 */

import { asObjects, asString, at } from "../../domain/json.ts"
import type { PortTls } from "../../domain/policies/tls/tls-steal-rules.ts"
import type { KubeObject } from "../../ports/kube-api.ts"

/** JSON in base64 without padding (agent.md §6.9). It holds paths and no secret. */
export const tlsVariable = "MIRRORD_AGENT_STEAL_TLS_CONFIG"

/** The most bytes of the variable: Linux starts no program with a longer one. */
const maxTlsVariable = 128 * 1024 - tlsVariable.length - 2

const encoded = (ports: ReadonlyArray<PortTls>): string =>
  Buffer.from(JSON.stringify(ports)).toString("base64").replaceAll("=", "")

/** The variable's value for an agent with these ports: none, one that the settings of all agents have, or these. */
export const tlsValue = (
  ports: ReadonlyArray<PortTls>,
  extraEnv: Readonly<Record<string, string>>
): string | undefined => (ports.length === 0 ? extraEnv[tlsVariable] : encoded(ports))

/** Why these ports cannot be passed to an agent, a clause; `undefined` if they can. */
export const tlsProblem = (
  ports: ReadonlyArray<PortTls>,
  extraEnv: Readonly<Record<string, string>>
): string | undefined => {
  const size = tlsValue(ports, extraEnv)?.length ?? 0
  return size > maxTlsVariable
    ? `its TLS settings have ${size} bytes, and ${maxTlsVariable} can be passed; give it fewer ports`
    : undefined
}

/** The variable's value in an agent's container. */
export const tlsValueOfContainer = (container: unknown): string | undefined =>
  asString(asObjects(at(container, "env")).find(({ name }) => name === tlsVariable)?.["value"])

/** The variable's value in an agent's Job. */
export const tlsValueOf = (job: KubeObject): string | undefined =>
  tlsValueOfContainer(asObjects(at(job, "spec", "template", "spec", "containers"))[0])

import { Redacted } from "effect"
import type { AgentTls } from "../../src/adapters/agents/secure-agent.ts"
import {
  makeAgentCertificate,
  makeAgentKey,
  readAgentCertificate,
  readAgentKey
} from "../../src/adapters/x509/agent-certificate.ts"

/** An operator towards one agent, with a key of its own. The certificate is valid now unless its life is given. */
export const makeAgentTls = async (
  life = { from: Date.now() - 3_600_000, until: Date.now() + 86_400_000 }
): Promise<AgentTls> => {
  const key = readAgentKey(await makeAgentKey())
  if (key === undefined) throw new Error("the key that was made cannot be read")
  const certificatePem = await makeAgentCertificate(key, "mirrord-agent-x", life)
  const certificate = readAgentCertificate(certificatePem, key)
  if (certificate._tag !== "Ours") throw new Error(`the certificate is ${certificate._tag}`)
  return { certificatePem, keyPem: key.keyPem, serverName: certificate.serverName }
}

/** The same for Node's own TLS. */
export const nodeTls = ({ certificatePem, keyPem }: AgentTls): { readonly cert: string; readonly key: string } => ({
  cert: certificatePem,
  key: Redacted.value(keyPem)
})

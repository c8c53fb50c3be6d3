import { Result } from "effect"
import type { AgentSettings } from "../../../src/adapters/agents/agent-job.ts"
import { parseAgentConfiguration, defaultAgentConfiguration } from "../../../src/domain/agents/agent-configuration.ts"
import type { PortTls } from "../../../src/domain/policies/tls/tls-steal-rules.ts"
import type { AgentPlacement } from "../../../src/domain/targets/pod-choice.ts"

/** Settings with what this `agent-config.yaml` says. */
export const settingsWith = (file: object): AgentSettings => ({
  ...settings,
  ...Object.fromEntries(
    Object.entries(Result.getOrThrow(parseAgentConfiguration({ _tag: "Parsed", value: file }, settings.image))).filter(
      ([, value]) => value !== undefined
    )
  )
})

export const settings: AgentSettings = {
  ...defaultAgentConfiguration,
  image: "agent:1",
  imagePullPolicy: "IfNotPresent",
  namespace: "mirrord",
  port: 4_000,
  idleTtlSecs: 60,
  startupTimeoutSecs: 30,
  imagePullSecrets: [],
  extraEnv: {}
}
/** A port of the target that serves TLS. */
export const tlsPort: PortTls = {
  port: 443,
  agentAsServer: { authentication: { certPem: "/tls/cert.pem", keyPem: "/tls/key.pem" }, alpnProtocols: ["h2"] },
  agentAsClient: { verification: { acceptAnyCert: false, trustRoots: ["/tls/roots"] } }
}
export const placement: AgentPlacement = {
  podName: "myapp-1",
  podNamespace: "default",
  podUid: "pod-uid",
  podLabels: { app: "myapp" },
  podOwners: [],
  podIps: ["10.0.0.1", "fd00::1"],
  nodeName: "node-1",
  containerName: "app",
  containerId: "abc",
  runtime: "cri-o",
  guessed: false,
  shareProcessNamespace: false,
  mesh: undefined
}

import { Result } from "effect"
import { agentJob } from "../../src/adapters/agents/agent-job.ts"
import { ephemeralContainer } from "../../src/adapters/agents/ephemeral-container.ts"
import { placement } from "../adapters/agents/agent-examples.ts"
import type { Rendered } from "./chart.ts"
import { at } from "./json.ts"
import { settingsFrom } from "./operator-settings.ts"

/** The Job of an agent, or the ephemeral container, that the operator of an install makes. */
export const agentOf = async (rendered: Rendered): Promise<object> => {
  // The kubelet writes the pod's namespace into this variable.
  const namespace = at(rendered.get("Deployment", "mirrord-operator"), "metadata", "namespace")
  const env = { ...rendered.env, MIRRORD_OPERATOR_NAMESPACE: namespace }
  const { agents, agentTls } = Result.getOrThrow(await settingsFrom(env, (name) => rendered.file(name)))
  const owner = { apiVersion: "mirrord.metalbear.co/v1alpha", kind: "MirrordClusterSession", name: "s", uid: "1" }
  const port = agents.port ?? 4_000
  const certificatePem = agentTls ? "the operator's certificate" : undefined
  const container = { name: placement.containerName }
  const made = { name: "mirrord-agent-x", port, group: 3_001, target: placement, certificatePem }
  if (agents.ephemeral) return ephemeralContainer(agents, { ...made, container, cleansUp: false, tls: [] })
  return agentJob(agents, { ...made, owner })
}

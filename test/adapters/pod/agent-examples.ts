import type { AgentSettings } from "../../../src/adapters/pod/agent-job.ts"
import type { AgentPlacement } from "../../../src/domain/target/pod-choice.ts"

export const settings: AgentSettings = {
  image: "agent:1",
  imagePullPolicy: "IfNotPresent",
  namespace: "mirrord",
  port: 4_000,
  idleTtlSecs: 60,
  startupTimeoutSecs: 30,
  logLevel: "info"
}
export const placement: AgentPlacement = {
  podName: "myapp-1",
  podNamespace: "default",
  podUid: "pod-uid",
  podIps: ["10.0.0.1", "fd00::1"],
  nodeName: "node-1",
  containerName: "app",
  containerId: "abc",
  runtime: "cri-o",
  guessed: false,
  shareProcessNamespace: false
}

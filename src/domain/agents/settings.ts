/** The settings of agents that are variables; agent-fields.ts has those of their file. */

import type { SettingCard } from "../catalogue/setting.ts"

export const agentSettings = {
  agentFile: {
    variable: "OPERATOR_AGENT_CONFIG",
    form: "path",
    about:
      "path of `agent-config.yaml`, [the settings of agents](../protocol/agent.md#2-the-agents-job). The variables " +
      "of agents win over it"
  },
  agentTls: {
    variable: "OPERATOR_AGENT_CONNECTION_TLS",
    form: "truth",
    default: false,
    value: "agent.tls",
    where: "agents",
    about: "`true`: agents speak [TLS](../operating/security.md#tls-with-agents)"
  },
  agentPort: {
    variable: "OPERATOR_AGENT_PORT",
    form: "port",
    defaultText: "random, 30000–65535",
    value: "agent.port",
    where: "agents",
    isUnsetBy0: true,
    about: "fixed port of agents"
  },
  agentImage: {
    variable: "MIRRORD_AGENT_IMAGE",
    form: "text",
    defaultText: "`ghcr.io/metalbear-co/mirrord:3.250.0`",
    about: "image of agents"
  },
  agentPullPolicy: {
    variable: "MIRRORD_AGENT_IMAGE_PULL_POLICY",
    form: "text",
    defaultText: "`IfNotPresent`",
    value: "agent.extraConfig.image_pull_policy",
    about: "when nodes pull it"
  },
  agentNamespace: {
    variable: "MIRRORD_AGENT_NAMESPACE",
    form: "text",
    defaultText: "the operator's",
    value: "agent.extraConfig.namespace",
    about: "where agents' Jobs are made"
  },
  agentServiceAccount: {
    variable: "MIRRORD_AGENT_SERVICE_ACCOUNT",
    form: "objectName",
    must: "the name of a ServiceAccount",
    defaultText: "`default` of their namespace",
    value: "agent.extraConfig.service_account",
    about: "the account that agents' pods run as. They get no token of it"
  },
  agentPullSecrets: {
    variable: "MIRRORD_AGENT_IMAGE_PULL_SECRETS",
    form: "objectNames",
    must: "names of Secrets",
    about: "names of Secrets in the agents' namespace, separated by commas"
  },
  agentLogLevel: {
    variable: "MIRRORD_AGENT_RUST_LOG",
    form: "text",
    defaultText: "`info`",
    value: "agent.extraConfig.log_level",
    about: "log level of agents"
  },
  agentExtraEnv: {
    variable: "OPERATOR_AGENT_EXTRA_ENV",
    form: "variables",
    about:
      "more variables of agents, as a JSON object. `AGENT_OPERATOR_CERT_ENV` is refused: the operator makes this " +
      "certificate itself"
  }
} as const satisfies SettingCard

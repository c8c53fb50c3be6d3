/** The settings of sessions. */

import type { SettingCard } from "../catalogue/setting.ts"
import { defaultSessionTimes } from "../fleet/configuration.ts"
import { defaultPodlessMillis } from "./podless.ts"
import { defaultBounds } from "./session-bounds.ts"

const limit = (what: string): string => `${what} at a time: [limits](../operating/policies.md#limits)`

export const sessionSettings = {
  sessionsPerUser: {
    variable: "OPERATOR_SESSIONS_PER_USER",
    form: "bound",
    default: defaultBounds.sessionsPerUser,
    value: "bounds.sessionsPerUser",
    about: limit("sessions of one user")
  },
  sessions: {
    variable: "OPERATOR_SESSIONS",
    form: "bound",
    default: defaultBounds.sessions,
    value: "bounds.sessions",
    about: limit("sessions of all users")
  },
  connectionsPerSession: {
    variable: "OPERATOR_CONNECTIONS_PER_SESSION",
    form: "bound",
    default: defaultBounds.connectionsPerSession,
    value: "bounds.connectionsPerSession",
    about: limit("connections of one session")
  },
  agentsPerUser: {
    variable: "OPERATOR_AGENTS_PER_USER",
    form: "bound",
    default: defaultBounds.agentsPerUser,
    value: "bounds.agentsPerUser",
    where: "agents",
    about: limit("agents of one user")
  },
  agents: {
    variable: "OPERATOR_AGENTS",
    form: "bound",
    default: defaultBounds.agents,
    value: "bounds.agents",
    where: "agents",
    about: limit("agents of all users")
  },
  maxSession: {
    variable: "OPERATOR_MAX_SESSION_TIME_SECONDS",
    form: "seconds",
    value: "operator.maxSessionTimeSeconds",
    isUnsetBy0: true,
    about: "seconds after which a session ends although it has a client; its client gets 410 when it comes back"
  },
  sessionTtl: {
    variable: "OPERATOR_SESSION_TTL_SECONDS",
    form: "seconds",
    default: defaultSessionTimes.sessionTtlSecs,
    value: "operator.sessionTtlSeconds",
    where: "direct",
    cure: "write for example 30, or leave it out for 60",
    about:
      "seconds that a session of this cluster alone lives without a client: " +
      "[limits](../operating/policies.md#limits)"
  },
  podless: {
    variable: "OPERATOR_NO_POD_TARGETS_SESSION_TIMEOUT_MILLIS",
    form: "millis",
    default: defaultPodlessMillis,
    value: "operator.noPodTargetsSessionTimeoutMillis",
    where: "targets",
    isUnsetBy0: true,
    cure: "write for example 120000, or leave it out for 60000",
    about:
      "milliseconds that a running session waits for a pod of its target: [limits](../operating/policies.md#limits)"
  },
  addsSessionKey: {
    variable: "OPERATOR_INJECT_SESSION_KEY_HEADER",
    form: "truth",
    default: false,
    value: "operator.injectSessionKeyHeader",
    about:
      "whether stolen HTTP requests get the header `mirrord-key` with the key of their session; the chart sets it to " +
      "`true`"
  }
} as const satisfies SettingCard

/** The rights for agents: Jobs in their own namespace, or ephemeral containers of targets' pods. */

import type { Right, RightCard } from "../catalogue/right.ts"
import { agentSettings } from "./settings.ts"

const noAgent = "no agent can be started"
const jobs = { scope: "agent-namespace", group: "batch", resource: "jobs" } as const

const operator: ReadonlyArray<Right> = [
  { ...jobs, verbs: ["get", "create", "patch", "delete"], when: ["agentJobs"], without: noAgent },
  {
    scope: "agent-namespace",
    group: "",
    resource: "events",
    verbs: ["list"],
    when: ["agentJobs"],
    without: "no session says why its agent does not start, such as a quota or Pod Security"
  },
  {
    scope: "cluster",
    group: "",
    resource: "pods/ephemeralcontainers",
    verbs: ["update"],
    when: ["ephemeralAgents"],
    without: noAgent
  },
  {
    ...jobs,
    verbs: ["get", "delete"],
    when: ["ephemeralAgents"],
    without: "no agent can be started, since one of earlier settings might run beside it"
  },
  {
    scope: "cluster",
    group: "",
    resource: "nodes",
    verbs: ["get"],
    when: ["asksNodes"],
    without: "no node is known to be full, and the scheduler finds out"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "secrets",
    name: "mirrord-operator-agent-tls",
    verbs: ["get"],
    when: ["workloads"],
    whileOn: agentSettings.agentTls,
    without: noAgent
  }
]

export const agentRights: RightCard = { operator }

/**
 * The rights for sessions: their objects, Events about them, and what the operator remembers of them.
 *
 * Not here: rights on the targets and agents of sessions (targets/rights.ts, agents/rights.ts).
 */

import type { Right, RightCard } from "../catalogue/right.ts"
import { operatorGroup } from "../resources/operator-api.ts"
import { primaryLeaseName } from "./primary-claim.ts"

const children = { scope: "cluster", group: "mirrord.metalbear.co", resource: "mirrordclustersessions" } as const
const parents = { scope: "cluster", group: operatorGroup, resource: "mirrordmulticlustersessions" } as const
const sessions = { group: operatorGroup, resource: "sessions" } as const

const ledger = { scope: "operator-namespace", group: "", resource: "configmaps" } as const
const stopped = { ...ledger, name: "mirrord-operator-stopped-sessions" } as const
const forgotten = "sessions that a lost cluster still has to end are forgotten"

const operator: ReadonlyArray<Right> = [
  {
    scope: "cluster",
    group: "authorization.k8s.io",
    resource: "subjectaccessreviews",
    verbs: ["create"],
    without: "no primary can attach to a session here"
  },
  { ...children, verbs: ["get", "list", "watch", "delete"], without: "no session is served or ended here" },
  { ...children, verbs: ["create"], when: ["workloads"], without: "no session is served here" },
  {
    ...children,
    resource: "mirrordclustersessions/status",
    verbs: ["patch"],
    without: "no session here becomes ready"
  },
  {
    ...children,
    resource: "mirrordclustersessions/finalizers",
    verbs: ["update"],
    when: ["openshift"],
    without: "OpenShift lets no session own the Job of an agent"
  },
  {
    ...parents,
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    when: ["primary"],
    without: "no session over several clusters is served"
  },
  {
    ...parents,
    resource: "mirrordmulticlustersessions/status",
    verbs: ["patch"],
    when: ["primary"],
    without: "no session over several clusters becomes ready"
  },
  {
    scope: "cluster",
    group: "",
    resource: "namespaces",
    verbs: ["get"],
    when: ["workloads"],
    without: "a namespace under a session over many clusters is not deleted before that session ends"
  },
  {
    scope: "operator-namespace",
    group: "coordination.k8s.io",
    resource: "leases",
    verbs: ["get"],
    name: primaryLeaseName,
    when: ["workloads"],
    without: "it is not known which primary this cluster serves, and no second one is noticed"
  },
  { ...ledger, verbs: ["create"], without: "no session can be stopped" },
  { ...stopped, verbs: ["patch"], without: "no session can be stopped" },
  {
    ...stopped,
    verbs: ["get"],
    when: ["workloads"],
    without: "no session of this cluster alone can be started or stopped"
  },
  { ...ledger, verbs: ["list", "watch"], when: ["primary"], without: forgotten },
  { ...ledger, name: "mirrord-operator-debts", verbs: ["patch"], when: ["primary"], without: forgotten },
  {
    scope: "event-namespace",
    group: "",
    resource: "events",
    verbs: ["create", "patch"],
    without: "kubectl describe tells nothing of what happened to a session"
  }
]

const member: ReadonlyArray<Right> = [
  {
    ...children,
    verbs: ["get", "list", "watch", "create", "delete"],
    without: "no session is made in this cluster"
  },
  {
    ...sessions,
    scope: "cluster",
    verbs: ["delete"],
    without: "sessions that users began in this cluster cannot be stopped from the primary"
  }
]

const developer: ReadonlyArray<Right> = [
  { ...sessions, scope: "target-namespace", verbs: ["get", "list"], without: "`mirrord session list` fails" },
  {
    ...sessions,
    scope: "target-namespace",
    verbs: ["delete", "deletecollection"],
    without: "`mirrord operator session stop` stops no session"
  }
]

const unfinished = "sessions outlive the operator, and their namespaces cannot be deleted"

const cleanup: ReadonlyArray<Right> = [
  { ...parents, verbs: ["get", "list", "delete", "patch"], without: unfinished },
  { ...children, verbs: ["list", "delete"], without: unfinished }
]

export const sessionRights: RightCard = { operator, member, developer, cleanup }

/**
 * The suites whose work programs do, of this repository or from outside of `npm ci`: what each needs from outside, when
 * it runs, and the mistake that it alone finds. All other tests need nothing and are what `npm test` runs.
 */

/** A program, or an ability of the machine, that a suite needs; `support/outside-programs.ts` finds them. */
export type Need =
  | "mirrord"
  | "mirrord-agent"
  | "layer-app"
  | "control plane"
  | "helm"
  | "published values"
  | "promtool"
  | "shellcheck"
  | "PostgreSQL"
  | "PostgreSQL 17"
  | "Flyway"
  | "MariaDB"
  | "MySQL"
  | "MongoDB"
  | "Redis"
  | "ClickHouse"
  | "DynamoDB"
  | "ElasticMQ"
  | "mounts"
  | "network namespaces"
  | "Debian's packages"
  | "memory groups"
  | "node"

export interface Suite {
  readonly needs: ReadonlyArray<Need>
  /** The mistake that no other suite finds. */
  readonly finds: string
  /**
   * Whether only `npm run test:long` runs the suite: another one of each landing proves the same behaviour, or it takes
   * a quarter of an hour.
   */
  readonly long?: true
}

const client: ReadonlyArray<Need> = ["mirrord", "layer-app"]
const clientOnKubernetes: ReadonlyArray<Need> = [...client, "control plane"]
const migrated: ReadonlyArray<Need> = ["PostgreSQL", "Flyway"]

/** By the test file below `test/`, without `.test.ts`. */
export const suites = {
  "adapters/usage/postgres-store": {
    needs: ["PostgreSQL 17"],
    finds: "records of use in PostgreSQL are lost or counted twice, or its password is told"
  },
  "app/branches/sync/branch-flood": {
    needs: [],
    finds: "branches that never go fill a primary, or stop others' branches"
  },
  "app/commands/crash-output": { needs: [], finds: "the operator's last words hold a credential" },
  "app/commands/doctor/doctor-command": { needs: [], finds: "`braid doctor` ends with a wrong code, or never" },
  "app/commands/join/join-playground": {
    needs: [],
    long: true,
    finds: "`braid join` and `braid leave` write half of what a fleet needs"
  },
  "app/commands/operator-command": { needs: [], finds: "the operator opens a port, or shows a token, unasked" },
  "app/commands/overview/usage-playground": {
    needs: [],
    finds: "a session is not on the page of use, or is lost or counted twice over an operator's restart"
  },
  "app/commands/ui/ui-playground": { needs: [], finds: "a cut member, and why, is not on the live page at once" },
  "charts/admission-policies": {
    needs: ["helm", "control plane"],
    finds: "the API server lets somebody order a branch of a target that they may not connect to"
  },
  "charts/agents": { needs: ["helm"], finds: "agents' pull secrets, accounts and policies do not follow the values" },
  "charts/agreement": { needs: ["helm"], finds: "the chart installs what the operator refuses, or the reverse" },
  "charts/alerts": { needs: ["promtool"], finds: "an alert that Prometheus cannot read, or that never fires" },
  "charts/crds": { needs: ["helm"], finds: "a custom resource is installed without its flag, or not with it" },
  "charts/environment": { needs: ["helm"], finds: "an administrator's variable is lost or reordered" },
  "charts/hooks": { needs: ["helm"], finds: "a hook's Job starts before what it runs with" },
  "charts/installed": { needs: ["helm", "control plane"], finds: "the API server refuses the chart, or upgrades lose" },
  "charts/join-values": { needs: ["helm"], finds: "`braid join` prints values that the chart does not take" },
  "charts/limits-hold": { needs: ["memory groups"], finds: "an operator outgrows the chart's memory limit" },
  "charts/monitoring": { needs: ["helm"], finds: "a dashboard or an alert names a metric that does not exist" },
  "charts/notes": { needs: ["helm"], finds: "NOTES are silent about a value without effect" },
  "charts/null-values": { needs: ["helm"], finds: "a null value removes a default that is needed" },
  "charts/operator-admission-policy": {
    needs: ["helm", "control plane"],
    finds: "an operator that is taken over makes itself the token of a service account"
  },
  "charts/previous-release": {
    needs: ["helm", "control plane"],
    finds: "an object that the release before has stored cannot be read or written, or not after a rollback"
  },
  "charts/published-values": {
    needs: ["published values", "control plane"],
    finds: "values that the published chart takes do not install"
  },
  "charts/rbac": {
    needs: ["helm"],
    finds: "the chart and `braid doctor` disagree about the rights of an installation, or a role is bound wrongly"
  },
  "charts/refusals": { needs: ["helm"], finds: "a mistake in the values installs" },
  "charts/rights-are-used": { needs: ["helm"], finds: "the chart grants a right that no code uses" },
  "charts/rights-suffice": { needs: ["helm"], finds: "the operator lacks a right of the chart in a whole session" },
  "charts/rollout": { needs: ["helm"], finds: "a change that operators read at their start makes no new pods" },
  "charts/samples": { needs: ["helm"], finds: "a sample of values renders something else than it should" },
  "charts/values-act": { needs: ["helm"], finds: "a value of the chart has no effect" },
  "check/test-script": { needs: [], finds: "`npm test` ends well though a test failed, or did not run" },
  "check/check-shell": {
    needs: ["shellcheck"],
    finds: "a program of shell that splits a word, or that only some shells can read, is not found"
  },
  "check/node-script": { needs: ["mounts"], finds: "`npm run node` ends well on a machine where no node can run" },
  "check/walls": { needs: [], finds: "a part of `npm run check` finds nothing any more" },
  "check/image": { needs: ["mounts"], finds: "the image lacks a file that the operator needs" },
  "check/release-files": {
    needs: ["mounts", "Debian's packages", "helm"],
    finds: "the image that is made without an engine does not start, or a release lacks a file"
  },
  "kubernetes/aggregation": { needs: ["control plane"], finds: "the embedded aggregation differs from kube-apiserver" },
  "kubernetes/aks": { needs: ["control plane"], finds: "tokens of Entra are refused by a real API server" },
  "kubernetes/api-conformance": { needs: ["control plane"], finds: "the embedded API server differs" },
  "kubernetes/branch-sync": { needs: ["control plane"], finds: "mirrored branches rely on an embedded API server" },
  "kubernetes/branches": {
    needs: [...migrated, "control plane"],
    finds: "controllers of branches rely on an embedded API server"
  },
  "kubernetes/cluster-api": { needs: ["control plane"], finds: "Cluster API's kubeconfig Secrets are misread" },
  "kubernetes/cluster-profile": { needs: ["control plane"], finds: "ClusterProfiles are misread" },
  "kubernetes/custom-resources": { needs: ["control plane"], finds: "kube-apiserver refuses a CRD or takes bad input" },
  "kubernetes/described-sessions": { needs: ["control plane"], finds: "`kubectl describe` shows no Events" },
  "kubernetes/doctor": { needs: ["control plane"], finds: "`braid doctor` misjudges a real API server's answers" },
  "kubernetes/eks": { needs: ["control plane"], finds: "presigned tokens are refused behind a token webhook" },
  "kubernetes/front-proxy": { needs: ["control plane"], finds: "a caller gets past the front proxy's certificate" },
  "kubernetes/join": { needs: ["control plane"], finds: "the documented commands to join and renew do not work" },
  "kubernetes/kube-api": { needs: ["control plane"], finds: "our API client misreads a real API server" },
  "kubernetes/member-away": {
    needs: ["control plane"],
    long: true,
    finds: "a member that is away for three minutes needs a restart"
  },
  "kubernetes/member-credentials": { needs: ["control plane"], finds: "a renewed or replaced credential is not used" },
  "kubernetes/outbound-networks": {
    needs: ["control plane", "network namespaces"],
    finds: "a member that dials out is needed from the primary's side, or does not survive a NAT that forgets it"
  },
  "kubernetes/own-certificate": { needs: ["control plane"], finds: "kube-apiserver refuses our serving certificate" },
  "kubernetes/people": {
    needs: ["control plane"],
    finds: "kubectl does not work through a tunnel, or two API servers and two operators disagree about who asks"
  },
  "kubernetes/playground": { needs: ["control plane"], finds: "`npm start -- --kubernetes` does not tell its story" },
  "kubernetes/real-client": { needs: clientOnKubernetes, finds: "the client relies on answers of a real API server" },
  "kubernetes/reflector": { needs: ["control plane"], finds: "a watch of a real API server loses or repeats objects" },
  "kubernetes/release": { needs: ["control plane", "helm"], finds: "an upgrade or a rollback ends a live session" },
  "lab/fuzz/fuzz": { needs: [], finds: "hostile input stops an operator, or a session beside it" },
  "lab/simulation/command/simulate-command": { needs: [], finds: "`npm run simulate` loses a failure" },
  "lab/simulation/command/worker-pool": { needs: [], finds: "a story is lost with the process that ran it" },
  "lab/playground/playground": { needs: [], finds: "`npm start` does not tell its story" },
  "lab/playground/closed-network": {
    needs: ["network namespaces"],
    finds: "a program in a network of its own reaches what no door leads to, or the network outlives its playground"
  },
  "lab/playground/branches/branch-story": {
    needs: ["mirrord", "PostgreSQL"],
    finds: "`npm start -- --branches` does not tell its story"
  },
  "lab/playground/queues/queue-story": {
    needs: ["ElasticMQ", "helm", "control plane"],
    finds: "`npm start -- --queues --kubernetes` does not tell its story"
  },
  "node/agent-incoming": {
    needs: ["mirrord-agent", "node"],
    finds: "the reference agent differs from the real one in incoming traffic"
  },
  "node/installed": {
    needs: ["node", "control plane"],
    finds: "the chart with its own image does not become ready on a real node, or leaves something"
  },
  "node/people": {
    needs: ["node", "control plane"],
    finds: "an upgrade of kubectl breaks on its way through two API servers, a tunnel and a kubelet"
  },
  "node/people-beside-sessions": {
    needs: [...clientOnKubernetes, "mirrord-agent", "node"],
    long: true,
    finds: "people's large files hold up a session on the same tunnel, or it holds up theirs"
  },
  "node/playground": {
    needs: ["node", "control plane", "mirrord-agent"],
    finds: "`npm start -- --node` does not tell its story"
  },
  "node/pods": {
    needs: [...clientOnKubernetes, "mirrord-agent", "node"],
    long: true,
    finds: "a pod's shape, or a disruption, ends a session on a real node, or leaves something behind"
  },
  "node/queues": {
    needs: [...clientOnKubernetes, "mirrord-agent", "node", "ElasticMQ"],
    finds: "a real kubelet, or the real client, does not get on with pods that a webhook patches"
  },
  "node/sessions": {
    needs: [...clientOnKubernetes, "mirrord-agent", "node", "PostgreSQL"],
    finds: "agents, copies or ends of processes rely on a stand-in kubelet"
  },
  "node/steals": {
    needs: [...clientOnKubernetes, "mirrord-agent", "node"],
    finds: "the real agent steals too much or too little of a port, by a filter, of TLS, or for two sessions"
  },
  "real/agent-conformance": { needs: ["mirrord-agent"], finds: "the reference agent answers unlike the real one" },
  "real/bad-input": { needs: client, finds: "the client's bad settings get no sentence" },
  "real/branches": { needs: [...client, ...migrated], finds: "the client's orders of branches are misread" },
  "real/branches-of-engines": {
    needs: ["mirrord", "MariaDB", "MySQL", "Redis", "DynamoDB"],
    finds: "another engine's connection is not what the program reads"
  },
  "real/client-behaviour": { needs: client, finds: "the client does something else when a part goes or comes back" },
  "real/client-certificates": { needs: client, finds: "the client's certificate is refused, or lives on" },
  "real/client-ends": { needs: client, finds: "a session does not end with the client, or the reverse" },
  "real/client-features": { needs: client, finds: "a kind of target or a feature fails for the client" },
  "real/copy-targets": { needs: client, finds: "copies of targets fail for the client" },
  "real/earlier-agents": { needs: client, finds: "earlier agents are not served" },
  "real/engines/branches": { needs: migrated, finds: "a branch's pod, life or status is wrong with a real server" },
  "real/engines/clickhouse": { needs: ["ClickHouse"], finds: "ClickHouse's copy differs from its source" },
  "real/engines/dynamodb": { needs: ["DynamoDB"], finds: "DynamoDB's copy differs from its source" },
  "real/engines/flyway": { needs: migrated, finds: "migrations by Flyway end without their reason" },
  "real/engines/mongodb": { needs: ["MongoDB"], finds: "MongoDB's copy differs from its source" },
  "real/engines/mysql": { needs: ["MariaDB", "MySQL"], finds: "MariaDB's or MySQL's copy differs from its source" },
  "real/engines/postgresql": {
    needs: ["PostgreSQL", "PostgreSQL 17"],
    finds: "PostgreSQL's copy differs from its source"
  },
  "real/engines/redis": { needs: ["Redis"], finds: "Redis' copy differs from its source" },
  "real/failover": { needs: client, finds: "the client's session ends when a leader does" },
  "real/failures": { needs: client, finds: "the client waits for ever for a part that is not there" },
  "real/fleet-copy-targets": { needs: client, finds: "copies over many clusters fail for the client" },
  "real/fleet-queues": {
    needs: [...client, "ElasticMQ"],
    finds: "queues over many clusters are not split for the client"
  },
  "real/further-commands": { needs: client, finds: "a further command of the client fails" },
  "real/label-targets": { needs: client, finds: "label targets fail for the client" },
  "real/management": { needs: client, finds: "a primary that only manages does not serve the client" },
  "real/outbound": { needs: client, long: true, finds: "the client feels that a cluster dials out" },
  "real/policies": { needs: client, finds: "the client gets round a policy, or no sentence" },
  "real/recorded-client": { needs: client, finds: "what `npm test` asks as the client is not what the client asks" },
  "real/session-socket": {
    needs: ["mirrord"],
    finds: "mirrord's programs cannot read our sessions' sockets, or take our aggregator's place"
  },
  "real/splits": {
    needs: ["ElasticMQ", "helm"],
    finds: "an installed operator lacks a right, a file or a certificate for splits, or loses messages with its process"
  },
  "real/sqs": { needs: ["ElasticMQ"], finds: "the AWS SDK or a real server of queues differs from the port" }
} as const satisfies Readonly<Record<string, Suite>>

/** The suites by name, for those who look for one that may not be there. */
export const suiteOf = (name: string): Suite | undefined => new Map<string, Suite>(Object.entries(suites)).get(name)

/**
 * The sentences of the source that users read beside those of refusals: why a target cannot be used, why a session or a
 * copy failed or ended, and what is told in a running session.
 */

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { sentencesOf } from "./refusal-texts.ts"

/** The rooms and files that speak to a user: of one session, or of a branch of a database in its status. */
const rooms = new RegExp(
  "^(?:domain/(?:agents|targets|sessions|policies(?!/tls)|relay|copies)/|domain/pod-problem|" +
    "domain/(?:resources/session-failure|protocol/answer-order)|" +
    "domain/branches/(?:branch-(?:address|admission|bounds|credentials|image|plan|pod-state|request)|" +
    "connection-source|environment-|kept-branch|source-|migrations/(?:migration-|archive-mark))|" +
    "app/(?:api|sessions|relay|policies|copies)/|" +
    "app/branches/(?:session-|make-|source-target)|adapters/(?:agents/|x509/user-certificates))",
  "u"
)

/** Files whose texts are not sentences by themselves, each with the reason. */
const others: Readonly<Record<string, string>> = {
  "domain/agents/agent-configuration.ts": "mistakes in the settings of agents, with which nothing starts",
  "domain/agents/agent-fields.ts": "the same",
  "domain/agents/check-field.ts": "the same",
  "domain/branches/migrations/migration-job.ts": "a program of a container",
  "domain/relay/table.ts": "the reasons of the routing table",
  "domain/policies/policy-rules.ts": "mistakes in the fields of policies, in a refusal that says where",
  "domain/policies/readable-rules.ts": "the same",
  "domain/policies/regex.ts": "the same",
  "domain/policies/rust-pattern.ts": "the same",
  "domain/sessions/connect-parameter-catalogue.ts": "forms of connect parameters, in a refusal",
  "domain/targets/target-json.ts": "forms of the field spec.target, in a refusal"
}

/** Texts that stand in a sentence which has a row, or that no user reads. */
const parts: ReadonlySet<string> = new Set([
  // Names of what is counted or measured inside.
  "copies of targets",
  "copies over many clusters",
  "calls about children",
  "connections that keep agents",
  "sockets of sessions",
  "streams of events",
  "order a copy",
  "The session of …",
  "a session uses the copy …",
  "the branch … has changed meanwhile",
  "the client has come again",
  "The session was ended.",
  "Its object was deleted. Who did that is in the API server's audit log.",
  "the program would get what others are to get",
  "…, without which no session starts here (sessionStart: all)",
  // Parts of sentences about branches of databases.
  "give the branch another id in feature.db_branches, or stop it first: mirrord db-branches stop …",
  "users may name no image",
  "there are none",
  "its failure could be read long enough",
  "no session has used it for its TTL",
  "it is being deleted",
  "it ended without a reason",
  "has no options block",
  "has the options blocks …",
  "is longer than … characters, or holds NUL",
  "env, envFrom, envPattern and secret",
  "Google's Secret Manager",
  "The branch's Secret",
  "The branch's pod",
  "The ConfigMap of the migrations",
  "The Job of the migrations",
  "their pod is gone",
  "they were not complete after … minutes",
  "the branch … has changed meanwhile",
  // Parts of limits.
  "events of your own sessions",
  "agents of all users",
  "branches of all namespaces",
  "branches of namespace …",
  "……; stop one (mirrord db-branches stop), or ask an administrator to raise the value.",
  "sessions of all users",
  "copies of targets of …",
  "copies of targets of all users",
  "connections of session …",
  "end some of its processes",
  "end a session (`mirrord session list`, `mirrord operator session stop --id ID`)",
  "end a session that uses one, and wait until its copy is gone",
  "…; end a session that is not needed",
  "……; …, or ask an administrator to raise the value.",
  "…; …, or ask an administrator to raise the value.",
  // Parts of a text that names no target.
  "write <kind>/<name>, optionally with /container/<container>, where kind is one of …; " +
    "or label/<key>=<value>; or targetless",
  "the container's name is missing",
  "… cannot be a container's name",
  "there is no kind …",
  "the name is missing",
  "… cannot be the name of a Kubernetes object",
  "… cannot be the key of a label",
  "… cannot be the value of a label",
  "its labels and its container are longer than … characters",
  "the key … is there twice",
  "only /container/<container> may follow the name, not …",
  "a label target needs the connect parameter label_target with at least one label",
  "a connect URL names targets as <kind>.<name>",
  // Parts of other sentences.
  "; `kubectl describe pod` shows why",
  "`kubectl -n … logs …`",
  "then run the command again",
  "it ends its connections",
  "an ephemeral container cannot be changed or removed, so ",
  "the cluster's own programs run there",
  "the agents run there",
  "the operator runs there",
  "it is not JSON",
  "it has … bytes, at most … are taken",
  "…; it must be …",
  "……; it must be …",
  "it is there twice with different values; send it once",
  "queue splitting for …",
  "the program would read messages of everybody",
  "the program would use the real database",
  "temporary queues of another operator",
  "leave multi_cluster unset and target a workload by its name.",
  "a file below a directory that was not seen being opened",
  "on your machine alone",
  "a Unix socket",
  " until it is free, which is tried every … s",
  ' is forbidden: User "',
  "Without a target there is nothing to copy",
  "… has no pod template",
  "it ends too early",
  // The ends of failures: their cures.
  "ask the administrator of that cluster to grant the missing permission (operator.multiClusterMember on the member)",
  "ask the administrator of that cluster, who sets this in the values of the chart",
  "ask the administrator of that cluster, which serves one primary alone",
  "check that cluster, then start a new session",
  "check that the cluster's API server and its operator are up, then run the command again",
  "check the target's name, container and namespace, and that it exists in that cluster",
  "look at the mirrord agent's pods and the operator's log in that cluster, then run the command again",
  "look at the operator's log in that cluster, then run the command again",
  "start a new session when the target has pods again",
  "wait until one of its pods is ready (`kubectl get pods` there shows how they are), then run the command again",
  // Why a cluster, an agent or a client was lost, in the sentence that says so.
  "cluster … is not connected",
  "it cannot be reached",
  "its part of the session has ended there, or is being started again",
  "the connection broke off",
  "it closed the connection: …",
  "it did not take what was sent to it",
  "it does not answer any more",
  "it does not answer on a new connection",
  "it fell silent, and a newer connection of its session took its ports",
  "it fell silent, and its client has come again",
  "it has not answered … requests",
  "it has not been checked yet",
  "it has said nothing for … s, not even its Pings",
  "it is configured otherwise now",
  "it is gone",
  "it is lost",
  "it is no longer configured",
  "it is not connected",
  "it sent a message that cannot be read: …: …",
  "it sent a message that ends too early",
  "it sent something that is no binary message",
  "it was replaced by a new connection",
  "its pod is gone",
  "its sessions cannot be read",
  "no answer within … ms",
  "no answer within … s",
  "no connection within … ms",
  "the answer is no copy target",
  "the client said Close",
  "the cluster is not configured, or cannot be connected",
  "the cluster is not connected",
  "the connection ended before the agent answered: …",
  // Parts of further sentences.
  "Azure Service Bus",
  "it has both spec.template and spec.workloadRef",
  "none is allowed",
  "session id … is not an unsigned 64-bit number",
  "an earlier run of the container",
  "for no name",
  "no reason given",
  // The name of an authority.
  "braid user certificates",
  // A condition of the operator.
  "The operator runs with the configuration of its files.",
  "All clusters that were found are in the fleet.",
  // Parts of a sentence about a variable that cannot lead to a branch.
  "branches of sessions",
  "the … of branch …",
  "a JDBC URL",
  "a URL of another scheme",
  "a data source name of Go",
  "a text of keys and values",
  "an ADO connection string",
  "could not be proved to lead to the branch",
  "does not hold what the pattern … of its … finds",
  "has no … where its pattern finds one",
  "has patterns that find the same text",
  "holds a URL that is not percent-encoded UTF-8",
  "holds a URL of HTTP whose query says the database or its user: declare both as params",
  "holds a URL whose path is more than the name of a database",
  "holds a URL whose scheme asks for TLS, which a branch does not have",
  "holds an @ behind the host of its URL; it must be percent-encoded as %40",
  "holds more than the name of a database",
  "holds …, and only a URL such as …://… can be rewritten: declare its host, port, user, password and database as " +
    "params with patterns",
  "is of a part that a branch does not have",
  "still leads elsewhere with the parts that its patterns find",
  "holds a URL whose parameter … may lead to another server",
  "insists on TLS by …, which is none of its parts, and the branch has none",
  // Parts of a refusal of a caller that is not the API server, and of the failure of a start.
  "the client certificate belongs to …, not to the API server's front proxy",
  "the client certificate's authority is not the front proxy's any more",
  "the connection has no client certificate of the API server's front proxy",
  "the front-proxy CA is not known yet",
  "the request names no user (header …)",
  "the operator's API cannot be served: …",
  // A part of a session's lists, and the sentences of conditions that say how far a session is.
  "The session failed",
  "The target is being resolved.",
  "The primary is being looked up.",
  "The agent is starting.",
  "The agent is ready for clients.",
  "The default cluster … is …ready….",
  "it was ready before and is being started again",
  "The session is being deleted; its part in … goes first.",
  "The session failed … s ago."
])

/** Every text of the rooms, once. */
const textsOf = (source: string): ReadonlySet<string> =>
  new Set(
    readdirSync(source, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && rooms.test(file) && others[file] === undefined)
      .flatMap((file) => sentencesOf(readFileSync(join(source, file), "utf8")))
  )

/** The sentences that need a row. `refused`: those that have one as a refusal. */
export const toldSentences = (source: string, refused: ReadonlySet<string>): ReadonlyArray<string> =>
  [...textsOf(source)]
    .filter((text) => text.split(" ").length >= 3 && !refused.has(text) && !parts.has(text))
    .toSorted()

/** The parts that nothing says any more. */
export const lostParts = (source: string): ReadonlyArray<string> => {
  const texts = textsOf(source)
  return [...parts].filter((part) => !texts.has(part))
}

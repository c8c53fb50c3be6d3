/**
 * A call of the Kubernetes API as its authorizer sees it. Nothing in `namespace`: the whole cluster; in `name`: the
 * collection.
 */
export interface ApiCall {
  readonly verb: string
  readonly group: string
  /** With its subresource, if any: `pods/log`. */
  readonly resource: string
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/** Namespaces that are the same in each installation; another one is a user's. */
const fixedNamespaces: ReadonlySet<string> = new Set(["mirrord", "kube-system"])
/** Events about objects of the whole cluster are in `default`, wherever users' workloads are. */
const isFixed = (namespace: string, resource: string): boolean =>
  fixedNamespaces.has(namespace) || (resource === "events" && namespace === "default")
/** Objects that are the same in each installation; rights can be given to them alone. */
const fixedNames: ReadonlySet<string> = new Set([
  "extension-apiserver-authentication",
  "mirrord-operator-user-authority",
  "mirrord-operator-serving",
  "mirrord-operator-agent-tls",
  "v1.operator.metalbear.co",
  "mirrord-operator-debts",
  "mirrord-operator-cluster-identities",
  "mirrord-operator-primary",
  "kube-system",
  "mirrord-operator-stopped-sessions",
  "mirrord-operator-users",
  "mirrord-operator-envoy",
  "mirrord-cluster-a-refreshed",
  "mirrord-outbound-identity",
  "mirrord-operator"
])

/** For an API server's log a namespace is in itself, and for the caller in none. */
const isInNone = (namespace: string, resource: string): boolean => namespace === "" || resource === "namespaces"

/** Secrets of renewed tokens have the names of their clusters. */
const defaultName = (name: string): string =>
  name.startsWith("mirrord-cluster-") && name.endsWith("-refreshed") ? "mirrord-cluster-a-refreshed" : name

/** The call without what differs by user and session: other namespaces and names are `*`. */
export const abstracted = ({ group, name = "", namespace = "", resource, verb }: ApiCall): ApiCall => ({
  verb,
  group,
  resource,
  ...(isInNone(namespace, resource) ? {} : { namespace: isFixed(namespace, resource) ? namespace : "*" }),
  // Authorizers do not know the name of an object that is to be made.
  ...(name === "" || (verb === "create" && !resource.includes("/"))
    ? {}
    : { name: fixedNames.has(defaultName(name)) ? defaultName(name) : "*" })
})

/** One row of a table in `calls/`. */
export const rowOf = (call: ApiCall): string => {
  const { group, name = "*", namespace, resource, verb } = abstracted(call)
  const place = namespace === "*" ? " in any namespace" : ` in ${namespace}`
  const where = namespace === undefined ? "" : place
  return `${verb} ${resource}${group === "" ? "" : ` of ${group}`}${name === "*" ? "" : ` named ${name}`}${where}`
}

/** The rows of calls, each once, sorted. */
export const tableOf = (calls: Iterable<ApiCall>): string =>
  `${[...new Set([...calls].map(rowOf))].toSorted().join("\n")}\n`

import { beforeAll, expect, it } from "vitest"
import { type ApiCall, rowOf, tableOf } from "./api-call.ts"
import { readTable } from "./audited-calls.ts"
import { Chart } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { covers, type Grant, grantsOf, type Holder } from "./grants.ts"
import { type ApiUser, callers, operatorCalls } from "./operator-calls.ts"

/** Rights that nothing here uses, each with the reason why it is given. */
const exceptions: Readonly<Record<string, string>> = {
  "mirrord-operator-envoy: get mirrordoperators of operator.metalbear.co":
    "on a primary the published chart binds this role to the operator's own account, and its name and subjects " +
    "are public",
  "mirrord-operator-envoy: proxy targets of operator.metalbear.co": "the same",
  "mirrord-operator-envoy: get targets of operator.metalbear.co": "the same",
  "mirrord-operator-envoy: list targets of operator.metalbear.co": "the same",
  "mirrord-operator-envoy: list copytargets of operator.metalbear.co": "the same",
  "mirrord-operator-envoy: create copytargets of operator.metalbear.co": "the same",
  "mirrord-operator: get mirrordclustersessions of mirrord.metalbear.co":
    "where sessions have no agents, those of an earlier time end: they are read again after a conflict,",
  "mirrord-operator: delete mirrordclustersessions of mirrord.metalbear.co": "deleted,",
  "mirrord-operator: patch mirrordclustersessions/status of mirrord.metalbear.co": "and say so"
}
/** The modes in which an exception may be needed; elsewhere the right must be used. */
const exceptional: Readonly<Record<string, ReadonlyArray<string>>> = {
  primary: Object.keys(exceptions),
  "primary whose members are shared": Object.keys(exceptions),
  "primary, of a fleet with branches of databases": Object.keys(exceptions),
  "primary, of a fleet that splits queues": Object.keys(exceptions),
  "primary without agents, which would speak TLS": Object.keys(exceptions),
  "primary that takes tunnels": [
    ...Object.keys(exceptions),
    // `helm test` alone.
    "mirrord-operator: get mirrordclusters of operator.metalbear.co"
  ],
  // A header of the primary's requests, and no call.
  "member that dials out": ["mirrord-operator: impersonate serviceaccounts named mirrord-operator-envoy in mirrord"],
  "primary with workloads": [
    "mirrord-operator-envoy: get mirrordoperators of operator.metalbear.co",
    "mirrord-operator-envoy: get targets of operator.metalbear.co",
    "mirrord-operator-envoy: list targets of operator.metalbear.co"
  ],
  "primary and member": Object.keys(exceptions).slice(0, 6)
}

const account = (name: string): Holder => ({ _tag: "Account", name })
const clusters = { a: { server: "https://a.example.com", authType: "bearerToken" } }
const primary = { operator: { multiCluster: { enabled: true, defaultCluster: "a", clusters } } }
const primaryWithWorkloads = {
  operator: { multiCluster: { enabled: true, managementOnly: false, defaultCluster: "primary", clusters } }
}

const splitting = { operator: { sqsSplitting: true } }

/**
 * The callers in each mode of the chart, and whose rights they use. A primary with workloads is both, and no scenario
 * shows all of both in one.
 */
const modes: ReadonlyArray<readonly [mode: string, values: object, Holder, ReadonlyArray<ApiUser>]> = [
  ["single", {}, account("mirrord-operator"), ["operator-with-workloads", "operator-with-copies"]],
  [
    "member",
    { operator: { multiClusterMember: true } },
    account("mirrord-operator"),
    ["operator-with-workloads", "operator-with-copies"]
  ],
  [
    "single, whose agents speak TLS",
    { agent: { tls: true } },
    account("mirrord-operator"),
    ["operator-with-workloads", "operator-with-copies", "operator-with-agent-tls"]
  ],
  [
    "single, whose agents are ephemeral containers",
    { agent: { extraConfig: { ephemeral: true } } },
    account("mirrord-operator"),
    ["operator-with-ephemeral-agents", "operator-with-copies"]
  ],
  [
    "single, which asks nodes for room",
    { agent: { extraConfig: { check_out_of_pods: true } } },
    account("mirrord-operator"),
    ["operator-with-workloads", "operator-with-copies", "operator-that-asks-nodes"]
  ],
  [
    "single, with branches of databases",
    { operator: { pgBranching: true } },
    account("mirrord-operator"),
    ["operator-with-workloads", "operator-with-copies", "operator-with-branches"]
  ],
  [
    "primary, of a fleet with branches of databases",
    { operator: { ...primary.operator, pgBranching: true } },
    account("mirrord-operator"),
    ["primary-management-only", "primary-with-branches"]
  ],
  [
    "single, which splits queues",
    splitting,
    account("mirrord-operator"),
    ["operator-with-workloads", "operator-with-copies", "operator-with-queues"]
  ],
  [
    "single, whose replicas share the queues that it splits",
    { operator: { replicas: 2, sqsSplitting: true, sqsSplittingSharding: true } },
    account("mirrord-operator"),
    ["operator-with-workloads", "operator-with-copies", "operator-with-queues", "operator-with-shared-queues"]
  ],
  [
    "primary, of a fleet that splits queues",
    { operator: { ...primary.operator, sqsSplitting: true } },
    account("mirrord-operator"),
    ["primary-management-only", "primary-with-queues"]
  ],
  [
    "primary without agents, which would speak TLS",
    { ...primary, agent: { tls: true } },
    account("mirrord-operator"),
    ["primary-management-only"]
  ],
  ["primary", primary, account("mirrord-operator"), ["primary-management-only"]],
  [
    "primary whose members are shared",
    { operator: { replicas: 3, multiCluster: { enabled: true, defaultCluster: "a", clusters, sharding: true } } },
    account("mirrord-operator"),
    ["primary-management-only", "primary-with-sharding"]
  ],
  [
    "primary that takes tunnels",
    { operator: { ...primary.operator, cell: { enabled: true } } },
    account("mirrord-operator"),
    ["primary-management-only", "primary-with-tunnels"]
  ],
  [
    "member that dials out",
    { operator: { multiClusterMember: true, outbound: { enabled: true, cell: "cell.example.com:8443" } } },
    account("mirrord-operator"),
    ["operator-with-workloads", "operator-with-copies", "operator-that-dials-out"]
  ],
  [
    "primary with workloads",
    primaryWithWorkloads,
    account("mirrord-operator"),
    ["primary-with-workloads", "operator-with-workloads", "operator-with-copies", "primary-management-only"]
  ],
  [
    "primary and member",
    { operator: { multiClusterMember: true, multiCluster: { enabled: true, defaultCluster: "a", clusters } } },
    account("mirrord-operator"),
    ["primary-management-only", "operator-with-workloads", "operator-with-copies"]
  ],
  [
    "member, for a primary",
    { operator: { multiClusterMember: true } },
    account("mirrord-operator-envoy"),
    ["primary-at-a-member"]
  ],
  [
    "member with branches of databases, for a primary",
    { operator: { multiClusterMember: true, pgBranching: true } },
    account("mirrord-operator-envoy"),
    ["primary-at-a-member", "primary-with-branches-at-the-default"]
  ],
  [
    "member that splits queues, for a primary",
    { operator: { multiClusterMember: true, sqsSplitting: true } },
    account("mirrord-operator-envoy"),
    ["primary-at-a-member", "primary-with-queues-at-a-member"]
  ],
  ["single", {}, account("mirrord-hooks"), ["hooks-with-copies"]],
  ["single, which splits queues", splitting, account("mirrord-hooks"), ["hooks-with-copies", "hooks-with-queues"]],
  [
    "single, with branches of databases",
    { operator: { pgBranching: true } },
    account("mirrord-hooks"),
    ["hooks-with-branches"]
  ],
  ["primary with workloads", primaryWithWorkloads, account("mirrord-hooks"), ["hooks-with-copies"]],
  ["primary", primary, account("mirrord-hooks"), ["hooks-with-copies"]]
]

/**
 * Rights of developers that no command of the real client needs here (test/real/client-cases.ts): for other clients, or
 * for features to come.
 */
const notByTheClient: Readonly<Record<string, string>> = {
  "list mirrordoperators of operator.metalbear.co": "kubectl get mirrordoperators",
  "list mirrordclusters of operator.metalbear.co": "kubectl get mirrordclusters",
  "get mirrordclusters of operator.metalbear.co": "kubectl describe mirrordcluster",
  "create mirrordoperators/certificate of operator.metalbear.co":
    "clients before ExtendableUserCredentials (operator-api.md §5.3)",
  "get events of operator.metalbear.co": "mirrord subscribe, which watches: the published role has all three",
  "list events of operator.metalbear.co": "the same",
  "list mirrordclusterprofiles of profiles.mirrord.metalbear.co": "kubectl get mirrordclusterprofiles",
  "list mirrordprofiles of profiles.mirrord.metalbear.co": "kubectl get mirrordprofiles",
  "get copytargets of operator.metalbear.co":
    "copies of targets, for which the client asks (test/real/copy-targets.test.ts)",
  "proxy copytargets of operator.metalbear.co": "the same",
  "create branchcredentials of operator.metalbear.co":
    "database branches with values of the client's (operator-api.md §1.8)",
  "get targets of operator.metalbear.co": "mirrord preview",
  "list targets of operator.metalbear.co": "kubectl get targets",
  "get targets/port-locks of operator.metalbear.co": "older clients, before they connected (operator-api.md §6.4)",
  "list targets/port-locks of operator.metalbear.co": "in the published role",
  "get queuesplits of operator.metalbear.co": "mirrord queues status of one split",
  "get sessions of operator.metalbear.co": "kubectl get sessions NAME",
  "list pods": "mirrord ls, and label targets (test/real/label-targets.test.ts)",
  "list services": "mirrord ls",
  "list deployments of apps": "the same",
  "list replicasets of apps": "the same",
  "list statefulsets of apps": "the same",
  "list cronjobs of batch": "the same",
  "list jobs of batch": "the same",
  "list rollouts of argoproj.io": "the same"
}

describeHelm("rights and calls", (helm) => {
  const chart = new Chart(helm)
  let calls: Readonly<Record<ApiUser, ReadonlyArray<ApiCall>>>
  beforeAll(async () => {
    calls = await operatorCalls()
  })

  it.each(callers)("of %s are those of its table", async (user) => {
    await expect(tableOf(calls[user])).toMatchFileSnapshot(`calls/${user}.txt`)
  })

  it.each(modes)(
    "in mode %s with values %j are the same: %j makes the calls of %j",
    async (mode, values, holder, users) => {
      const grants = grantsOf(await chart.render({ values }), holder)
      const made = users.flatMap((user) => calls[user])
      const missing = new Set(made.filter((call) => !grants.some((grant) => covers(grant, call))).map(rowOf))
      const unused = grants
        .filter((grant: Grant) => !made.some((call) => covers(grant, call)))
        .map((grant) => `${grant.role}: ${rowOf(grant)}`)
      const expected = holder.name === "mirrord-hooks" ? [] : (exceptional[mode] ?? [])
      // An exception that is not needed any more is to go.
      expect({ missing: [...missing].toSorted(), unused: unused.toSorted() }).toEqual({
        missing: [],
        unused: expected.toSorted()
      })
    }
  )

  it.each(["mirrord-operator-user", "mirrord-operator-ci"])(
    "of role %s are the real client's, but for those that it has no use for here",
    async (name) => {
      const rights = new Set(grantsOf(await chart.render({}), { _tag: "Role", name }).map(rowOf))
      // A role of the whole cluster holds in any namespace.
      const made = new Set(readTable("users").map((row) => row.replace(/ in any namespace$/, "")))
      const known = new Set([...made, ...Object.keys(notByTheClient)])
      expect({
        missing: [...made].filter((call) => !rights.has(call)),
        unused: [...rights].filter((right) => !known.has(right))
      }).toEqual({ missing: [], unused: [] })
      expect(Object.keys(notByTheClient).filter((right) => made.has(right) || !rights.has(right))).toEqual([])
    }
  )
})

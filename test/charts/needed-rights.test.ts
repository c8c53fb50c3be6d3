import { beforeAll, expect, it } from "vitest"
import {
  defaultClusterRights,
  memberRights,
  type NeededRight,
  ownRights,
  type RightScope
} from "../../src/domain/commands/doctor/needed-rights.ts"
import type { Role } from "../../src/domain/fleet/roles.ts"
import { Chart, type Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asList, at } from "./json.ts"

const scopes: Readonly<Record<string, RightScope>> = {
  mirrord: "operator-namespace",
  agents: "agent-namespace",
  default: "event-namespace",
  "kube-system": "kube-system"
}
const line = (scope: string, verb: unknown, resource: unknown, group: unknown, name: unknown): string =>
  `${scope}: ${String(verb)} ${String(resource)}.${String(group)}${name === undefined ? "" : ` named ${String(name)}`}`

const needed = (rights: ReadonlyArray<NeededRight>): ReadonlyArray<string> =>
  [
    ...new Set(
      rights.flatMap(({ group, name, resource, scope, verbs }) =>
        verbs.map((verb) => line(scope, verb, resource, group, name))
      )
    )
  ].toSorted()

/** Every verb that a service account is granted. */
const granted = (rendered: Rendered, account: string): ReadonlyArray<string> =>
  ["ClusterRole", "Role"]
    .flatMap((kind) => {
      const place = (object: unknown): unknown => at(object, "metadata", "namespace")
      const bindings = rendered
        .ofKind(`${kind}Binding`)
        .filter((binding) =>
          asList(binding["subjects"]).some(
            (subject) => at(subject, "kind") === "ServiceAccount" && at(subject, "name") === account
          )
        )
      return bindings.flatMap((binding) => {
        const role = rendered
          .ofKind(kind)
          .find(
            (one) => at(one, "metadata", "name") === at(binding, "roleRef", "name") && place(one) === place(binding)
          )
        const scope = kind === "ClusterRole" ? "cluster" : (scopes[String(place(binding))] ?? String(place(binding)))
        return asList(at(role, "rules")).flatMap((rule) =>
          asList(at(rule, "apiGroups")).flatMap((group) =>
            asList(at(rule, "resources")).flatMap((resource) =>
              asList(at(rule, "resourceNames") ?? [undefined]).flatMap((name) =>
                asList(at(rule, "verbs")).map((verb) => line(scope, verb, resource, group, name))
              )
            )
          )
        )
      })
    })
    .toSorted()

const primary = (managementOnly: boolean) => ({ _tag: "Primary" as const, managementOnly, isDefault: !managementOnly })

const operators: ReadonlyArray<readonly [name: string, role: Role, operator: object]> = [
  ["a single cluster's operator", { _tag: "Single" }, {}],
  ["a member's operator", { _tag: "Single" }, { multiClusterMember: true }],
  ["a primary that only manages", primary(true), { multiCluster: { enabled: true } }],
  ["a primary whose members are shared", primary(true), { multiCluster: { enabled: true, sharding: true } }],
  ["a primary with workloads", primary(false), { multiCluster: { enabled: true, managementOnly: false } }],
  ["an operator that makes branches", { _tag: "Single" }, { pgBranching: true }],
  [
    "a primary that only manages, of a fleet with branches",
    primary(true),
    { pgBranching: true, multiCluster: { enabled: true } }
  ],
  [
    "a primary with workloads that is the default, with branches",
    primary(false),
    { pgBranching: true, multiCluster: { enabled: true, managementOnly: false, defaultCluster: "primary" } }
  ],
  [
    "a primary with workloads that is not the default, of a fleet with branches",
    { ...primary(false), isDefault: false },
    { pgBranching: true, multiCluster: { enabled: true, managementOnly: false, defaultCluster: "other" } }
  ]
]
/** Which agents there are, and whether targets are copied: each by itself, and all. */
const features = [
  { agentTls: false, ephemeralAgents: false, asksNodes: false },
  { agentTls: true, ephemeralAgents: false, asksNodes: true },
  { agentTls: false, ephemeralAgents: true, asksNodes: false },
  { agentTls: true, ephemeralAgents: true, asksNodes: true }
].flatMap((agents) => [
  { ...agents, copies: true },
  { ...agents, copies: false }
])
const installs = (operator: object) =>
  features.map((parts) => ({
    parts,
    values: {
      operator: { ...operator, copyTarget: { enabled: parts.copies } },
      agent: {
        tls: parts.agentTls,
        extraConfig: { namespace: "agents", ephemeral: parts.ephemeralAgents, check_out_of_pods: parts.asksNodes }
      }
    }
  }))

describeHelm("what braid doctor asks for", (helm) => {
  const chart = new Chart(helm)
  beforeAll(() => chart.prepare(operators.flatMap(([, , operator]) => installs(operator))))

  it.each(operators)("is what the chart grants to %s", async (_, role, operator) => {
    const sharding = at(operator, "multiCluster", "sharding") === true
    const branching = at(operator, "pgBranching") === true ? (["pg"] as const) : []
    for (const { parts, values } of installs(operator)) {
      const rights = ownRights(role, { ...parts, ownCertificate: true, sharding, branching })
      expect(needed(rights)).toEqual(granted(await chart.render({ values }), "mirrord-operator"))
    }
  })

  it("is what the chart of a member grants to a primary, but for renewing its token", async () => {
    const renewal = "operator-namespace: create serviceaccounts/token. named mirrord-operator-envoy"
    for (const pgBranching of [false, true]) {
      const rights = [...memberRights, ...defaultClusterRights(pgBranching ? ["pg"] : [])]
      const rendered = await chart.render({ values: { operator: { multiClusterMember: true, pgBranching } } })
      expect([...needed(rights), renewal].toSorted()).toEqual(granted(rendered, "mirrord-operator-envoy"))
    }
  })
})

import { expect, it } from "vitest"
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

describeHelm("what braid doctor asks for", (helm) => {
  const chart = new Chart(helm)
  const render = (operator: object, agentTls = false, extraConfig: object = {}): Promise<Rendered> =>
    chart.render({
      values: { operator, agent: { tls: agentTls, extraConfig: { namespace: "agents", ...extraConfig } } }
    })
  const primary = (managementOnly: boolean): Role => ({ _tag: "Primary", managementOnly, isDefault: !managementOnly })

  it.each([
    ["a single cluster's operator", { _tag: "Single" } as const, {}],
    ["a member's operator", { _tag: "Single" } as const, { multiClusterMember: true }],
    ["a primary that only manages", primary(true), { multiCluster: { enabled: true } }],
    ["a primary whose members are shared", primary(true), { multiCluster: { enabled: true, sharding: true } }],
    ["a primary with workloads", primary(false), { multiCluster: { enabled: true, managementOnly: false } }],
    ["an operator that makes branches", { _tag: "Single" } as const, { pgBranching: true }],
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
  ])("is what the chart grants to %s", async (_, role, operator) => {
    const isShared = at(operator, "multiCluster", "sharding") === true
    const branching = at(operator, "pgBranching") === true ? (["pg"] as const) : []
    for (const [agentTls, ephemeralAgents, asksNodes] of [
      [false, false, false],
      [true, false, true],
      [false, true, false],
      [true, true, true]
    ] as const) {
      const rendered = await render(operator, agentTls, { ephemeral: ephemeralAgents, check_out_of_pods: asksNodes })
      const parts = { ownCertificate: true, agentTls, ephemeralAgents, asksNodes, sharding: isShared, branching }
      expect(needed(ownRights(role, { ...parts, copies: true }))).toEqual(granted(rendered, "mirrord-operator"))
      const without = await render({ ...operator, copyTarget: { enabled: false } }, agentTls, {
        ephemeral: ephemeralAgents,
        check_out_of_pods: asksNodes
      })
      expect(needed(ownRights(role, { ...parts, copies: false }))).toEqual(granted(without, "mirrord-operator"))
    }
  })

  it("is what the chart of a member grants to a primary, but for renewing its token", async () => {
    const renewal = "operator-namespace: create serviceaccounts/token. named mirrord-operator-envoy"
    for (const pgBranching of [false, true]) {
      const rights = [...memberRights, ...defaultClusterRights(pgBranching ? ["pg"] : [])]
      expect([...needed(rights), renewal].toSorted()).toEqual(
        granted(await render({ multiClusterMember: true, pgBranching }), "mirrord-operator-envoy")
      )
    }
  })
})

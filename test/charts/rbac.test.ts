import { Result } from "effect"
import { beforeAll, expect, it } from "vitest"
import { parse } from "yaml"
import { installedParts } from "../../src/app/commands/doctor/installation.ts"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import type { RightHolder, RightScope, Switch } from "../../src/domain/catalogue/right.ts"
import { installedConditions, rightSwitches, rightsOf } from "../../src/domain/commands/doctor/needed-rights.ts"
import { clusterName, refreshedSecretName } from "../../src/domain/fleet/cluster-name.ts"
import { roleOf } from "../../src/domain/fleet/roles.ts"
import { branchEngines } from "../../src/domain/resources/chart-switches.ts"
import { Chart, Rendered, type RenderOptions } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asList, asMap, asText, at } from "./json.ts"
import { settingsOf } from "./operator-settings.ts"

/** The roles of an install, each with the rights that it holds. */
const roles: Readonly<Record<string, readonly [RightHolder, ...ReadonlyArray<RightScope>]>> = {
  "ClusterRole/mirrord-operator": ["operator", "cluster"],
  "Role/mirrord/mirrord-operator": ["operator", "operator-namespace"],
  "Role/agents/mirrord-operator-agents": ["operator", "agent-namespace"],
  "Role/default/mirrord-operator-events": ["operator", "event-namespace"],
  "Role/kube-system/mirrord-operator-apiserver-authentication": ["operator", "kube-system"],
  "Role/capi/mirrord-operator-cluster-api": ["operator", "cluster-api-namespace"],
  "Role/mirrord/mirrord-operator-cluster-profiles": ["operator", "cluster-profile-namespace"],
  "ClusterRole/mirrord-operator-envoy": ["link", "cluster"],
  "ClusterRole/mirrord-operator-envoy-remote": ["member", "cluster"],
  "Role/mirrord/mirrord-operator-envoy": ["member", "operator-namespace"],
  "ClusterRole/mirrord-operator-user": ["developer", "cluster", "target-namespace"],
  "ClusterRole/mirrord-operator-ci": ["developer", "cluster", "target-namespace"],
  "ClusterRole/mirrord-operator-user-basic": ["developer", "cluster"],
  "Role/shop/mirrord-operator-user": ["developer", "target-namespace"],
  "ClusterRole/mirrord-hooks": ["cleanup", "cluster"]
}

const account = "ServiceAccount mirrord mirrord-operator"
const envoy = "ServiceAccount mirrord mirrord-operator-envoy"
/** The subjects of the roles that are bound, by mode. */
const always = {
  "ClusterRole/mirrord-operator": [account],
  "Role/mirrord/mirrord-operator": [account],
  "Role/default/mirrord-operator-events": [account],
  "Role/kube-system/mirrord-operator-apiserver-authentication": [account],
  "ClusterRole/mirrord-hooks": ["ServiceAccount mirrord mirrord-hooks"]
}
const withWorkloads = { ...always, "Role/agents/mirrord-operator-agents": [account] }
const withEnvoy = {
  "ClusterRole/mirrord-operator-envoy-remote": [envoy],
  "Role/mirrord/mirrord-operator-envoy": [envoy]
}
const providers = {
  "Role/capi/mirrord-operator-cluster-api": [account],
  "Role/mirrord/mirrord-operator-cluster-profiles": [account]
}
const link = (...subjects: ReadonlyArray<string>) => ({ "ClusterRole/mirrord-operator-envoy": subjects })
const ofGroups = ["Group from-aws", "Group from-azure", "User from-a-certificate"]

const clusterNames = ["a", "B b"]
const clusters = Object.fromEntries(
  clusterNames.map((name) => [name, { server: "https://a.example.com", authType: "bearerToken" }])
)
const primary = { enabled: true, defaultCluster: "a", clusters }
const everyEngine = Object.fromEntries(branchEngines.map((engine) => [`${engine}Branching`, true]))

/** Values of each mode, and who is bound. Agents have a namespace of their own in each. */
const modes: Readonly<
  Record<string, readonly [values: object, bound: Readonly<Record<string, ReadonlyArray<string>>>]>
> = {
  single: [{}, withWorkloads],
  "single, all on": [
    {
      agent: { tls: true, extraConfig: { check_out_of_pods: true } },
      openshift: true,
      operator: { ...everyEngine, previewEnv: true, sqsSplitting: true },
      roleNamespaces: ["shop"]
    },
    withWorkloads
  ],
  "single, all off": [
    {
      operator: { copyTarget: { enabled: false }, dbBranchingLiteralCredentials: false, spannerBranching: true },
      tls: { useExistingSecret: true }
    },
    withWorkloads
  ],
  "single, ephemeral agents": [{ agent: { extraConfig: { ephemeral: true, check_out_of_pods: true } } }, withWorkloads],
  primary: [
    { operator: { multiCluster: primary, pgBranching: true }, agent: { tls: true } },
    { ...always, ...link(account) }
  ],
  "primary, sharded, that finds clusters": [
    {
      operator: {
        replicas: 3,
        multiCluster: {
          ...primary,
          sharding: true,
          providers: ["clusterApi", "clusterProfile"],
          clusterApiNamespace: "capi"
        }
      }
    },
    { ...always, ...providers, ...link(account) }
  ],
  "primary with workloads": [
    { operator: { multiCluster: { ...primary, managementOnly: false }, mysqlBranching: true } },
    { ...withWorkloads, ...link(account) }
  ],
  "primary with workloads, the default": [
    {
      operator: {
        multiCluster: { ...primary, managementOnly: false, defaultCluster: "primary" },
        mongodbBranching: true
      }
    },
    { ...withWorkloads, ...link(account) }
  ],
  member: [
    { operator: { multiClusterMember: true, redisBranching: true } },
    { ...withWorkloads, ...link(envoy), ...withEnvoy }
  ],
  "single, that restarts workloads whose queues are split": [
    { operator: { sqsSplitting: true, isolatePodsRestart: false } },
    withWorkloads
  ],
  "member, groups": [
    {
      rbac: { memberSubjects: [{ kind: "User", name: "from-a-certificate", apiGroup: "rbac.authorization.k8s.io" }] },
      operator: {
        multiClusterMember: true,
        multiClusterMemberIamGroup: "from-aws",
        multiClusterMemberAzureGroup: "from-azure"
      }
    },
    {
      ...withWorkloads,
      ...link(...ofGroups),
      "ClusterRole/mirrord-operator-envoy-remote": ofGroups
    }
  ],
  "member, published width": [
    {
      rbac: { publishedWidth: true },
      operator: { multiClusterMember: true, genericBranching: true, sqsSplitting: true }
    },
    { ...withWorkloads, ...link(envoy), ...withEnvoy }
  ],
  "member that dials out, for people too": [
    {
      operator: {
        multiClusterMember: true,
        outbound: {
          enabled: true,
          cell: "a:1",
          proxy: { groups: ["system:authenticated", "dev"], extraKeys: ["scopes", "a.example/b"] }
        }
      }
    },
    { ...withWorkloads, ...link(envoy), ...withEnvoy }
  ],
  "member that dials out, for everyone by their own name": [
    {
      operator: {
        multiClusterMember: true,
        outbound: { enabled: true, cell: "a:1", proxy: { groups: ["system:authenticated"], prefix: "-" } }
      }
    },
    { ...withWorkloads, ...link(envoy), ...withEnvoy }
  ],
  "primary and member": [
    { operator: { multiClusterMember: true, multiCluster: primary } },
    { ...withWorkloads, ...link(account, envoy), ...withEnvoy }
  ]
}

type Rule = ReturnType<typeof asMap>

/** The verbs of rules, each with its resource and its name. */
const verbsOf = (rules: ReadonlyArray<Rule>): ReadonlyArray<string> => {
  const texts = (rule: Rule, field: string): ReadonlyArray<string> => asList(rule[field] ?? []).map(asText)
  const all = rules.flatMap((rule) =>
    texts(rule, "apiGroups").flatMap((group) =>
      texts(rule, "resources").flatMap((resource) =>
        texts(rule, "verbs").flatMap((verb) => {
          const names = texts(rule, "resourceNames")
          return (names.length === 0 ? ["*"] : names).map((name) => `${verb} ${resource}.${group} ${name}`)
        })
      )
    )
  )
  return [...new Set(all)].toSorted()
}

const rolesOf = (rendered: Rendered) => ["ClusterRole", "Role"].flatMap((kind) => rendered.ofKind(kind))
const heldBy = (rendered: Rendered) =>
  Object.fromEntries(
    rolesOf(rendered).map((role) => [Rendered.nameOf(role), verbsOf(asList(role["rules"]).map(asMap))])
  )

const isOn = ({ default: usual, value }: Switch, values: unknown): boolean =>
  (at(values, ...value.split(".")) ?? usual) === true

/** The names for which a right is. `people`: names of the groups of people in the cluster. */
const namesOf = (name: string | undefined, people: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (name === "<people-group>") return people
  return name?.includes("<cluster>") === true
    ? clusterNames.map((cluster) => refreshedSecretName(clusterName(cluster), sha256Hex))
    : [name ?? []].flat()
}

/** The verbs that the cards give to a role under the chart's conditions. */
const declared = (
  role: string,
  conditions: Readonly<Record<string, unknown>>,
  values: unknown
): ReadonlyArray<string> => {
  const [holder, ...scopes] = roles[role] ?? ["operator"]
  const { extraKeys = [], groups = [], prefix = "primary:" } = asMap(at(values, "operator", "outbound", "proxy") ?? {})
  const people = asList(groups).flatMap((group) => (prefix === "-" ? [] : [`${asText(prefix)}${asText(group)}`]))
  return verbsOf(
    rightsOf(holder)
      .filter(({ scope, when = [] }) => scopes.includes(scope) && when.every((name) => conditions[name] !== null))
      .filter(({ whileOn }) => whileOn === undefined || isOn(whileOn, values))
      // A right on no group is none, and above all not one on every group.
      .filter(({ name }) => name !== "<people-group>" || people.length > 0)
      .map(({ group, name, resource, verbs }) => ({
        apiGroups: [group],
        resources: resource.includes("<extra-key>")
          ? asList(extraKeys).map((key) => resource.replace("<extra-key>", asText(key)))
          : [resource],
        verbs,
        resourceNames: namesOf(name, people)
      }))
  )
}

const subjectsOf = (rendered: Rendered) => {
  const bound = ["ClusterRole", "Role"].flatMap((kind) =>
    rendered.ofKind(`${kind}Binding`).flatMap((binding) => {
      const place = at(binding, "metadata", "namespace")
      const role = [kind, ...(place === undefined ? [] : [place]), at(binding, "roleRef", "name")].join("/")
      return asList(binding["subjects"]).map((subject) => ({
        role,
        subject: ["kind", "namespace", "name"]
          .map((field) => at(subject, field) ?? "")
          .filter(Boolean)
          .join(" ")
      }))
    })
  )
  return Object.fromEntries(
    [...Map.groupBy(bound, ({ role }) => role)].map(([role, some]) => [
      role,
      some.map(({ subject }) => subject).toSorted()
    ])
  )
}

describeHelm("rights", (helm) => {
  const chart = new Chart(helm)
  /** The conditions of rights as the chart judges them, by way of an extra object. */
  const conditionsIn = (rendered: Rendered) =>
    asMap(parse(Buffer.from(asText(at(rendered.get("ConfigMap", "conditions"), "data", "text")), "base64").toString()))
  const carrier = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "conditions" },
    data: { text: '{{ include "braid.rightConditions" . | b64enc }}' }
  }
  const install = (values: object): RenderOptions => {
    const agent = asMap(at(values, "agent") ?? {})
    return {
      values: {
        ...values,
        agent: { ...agent, extraConfig: { ...asMap(agent["extraConfig"] ?? {}), namespace: "agents" } },
        extraObjects: [carrier]
      }
    }
  }
  beforeAll(() => chart.prepare(Object.values(modes).map(([values]) => install(values))))

  it.each(Object.entries(modes))("of mode %s", async (mode, [values, bound]) => {
    // Each role holds what the cards say, is bound to those who need it, and braid doctor asks for the same.
    const rendered = await chart.render(install(values))
    const conditions = conditionsIn(rendered)
    const held = heldBy(rendered)
    expect(held).toEqual(
      Object.fromEntries(Object.keys(held).map((role) => [role, declared(role, conditions, values)]))
    )
    expect(subjectsOf(rendered)).toEqual(
      Object.fromEntries(Object.entries(bound).map(([role, subjects]) => [role, subjects.toSorted()]))
    )

    const settings = Result.getOrThrow(await settingsOf(rendered))
    const parts = installedParts(settings)
    for (const one of Object.values(rightSwitches))
      expect([one.variable, parts.switches[one.variable]]).toEqual([one.variable, isOn(one, values)])
    const seen = Object.entries(installedConditions(roleOf(settings.fleet), parts))
    const judged = seen.flatMap(([name, holds]) => (holds === undefined ? [] : [[name, holds] as const]))
    expect(Object.keys(conditions).toSorted()).toEqual(seen.map(([name]) => name).toSorted())
    // No setting says to a primary that it is a member as well.
    if (mode !== "primary and member")
      expect(Object.fromEntries(judged)).toEqual(
        Object.fromEntries(judged.map(([name]) => [name, conditions[name] !== null]))
      )
  })

  it.each([
    ["no", false],
    [true, true]
  ])("follow PRIMARY_MANAGEMENT_ONLY: %s", async (text, managementOnly) => {
    const ofPrimary = (own: boolean, extraEnv: object) =>
      chart.render({ values: { operator: { multiCluster: { enabled: true, managementOnly: own }, extraEnv } } })
    const wanted = await ofPrimary(managementOnly, {})
    const overridden = await ofPrimary(!managementOnly, { PRIMARY_MANAGEMENT_ONLY: text })
    expect(heldBy(overridden)).toEqual(heldBy(wanted))
    expect(overridden.file("multicluster-config.yaml")).toBe(wanted.file("multicluster-config.yaml"))
  })
})

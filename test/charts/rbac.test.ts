import { beforeAll, expect, it } from "vitest"
import { defaults } from "./chart-values.ts"
import { Chart, type Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asList, asMap, at } from "./json.ts"

/** All rights of an install as text: roles with their rules, and to whom they are bound. */
const rights = (rendered: Rendered): string => {
  const place = (object: unknown): string =>
    [at(object, "metadata", "namespace"), at(object, "metadata", "name")].filter((part) => part !== undefined).join("/")
  const roles = ["ClusterRole", "Role"].flatMap((kind) =>
    rendered.ofKind(kind).map((role) => {
      const bindings = rendered
        .ofKind(`${kind}Binding`)
        .filter(
          (binding) =>
            at(binding, "roleRef", "name") === at(role, "metadata", "name") &&
            at(binding, "metadata", "namespace") === at(role, "metadata", "namespace")
        )
      const subjects = bindings
        .flatMap((binding) => asList(binding["subjects"]))
        .map(
          (subject) =>
            "  to " +
            ["kind", "namespace", "name"]
              .map((field) => at(subject, field))
              .filter((part) => part !== undefined)
              .join(" ")
        )
      const rules = asList(role["rules"]).map((rule) => {
        const list = (field: string): string =>
          asList(at(rule, field) ?? [])
            .map((part) => (part === "" ? "core" : String(part)))
            .join(", ")
        const names = list("resourceNames")
        return `  ${list("apiGroups")}: ${list("resources")}${names === "" ? "" : ` named ${names}`}: ${list("verbs")}`
      })
      return [`${kind} ${place(role)}`, ...(subjects.length === 0 ? ["  to nobody"] : subjects), ...rules].join("\n")
    })
  )
  return `${roles.toSorted().join("\n\n")}\n`
}

/** Values that turn something on for developers: kinds of queues and databases, previews. */
const featureFlags = Object.entries(asMap(defaults["operator"]))
  .filter(([name, value]) => /(?:Splitting|Branching)$|^previewEnv$/u.test(name) && typeof value === "boolean")
  .map(([name]) => name)

const modes: ReadonlyArray<readonly [name: string, values: object]> = [
  ["single", {}],
  [
    "single-features",
    { roleNamespaces: ["default"], operator: Object.fromEntries(featureFlags.map((flag) => [flag, true])) }
  ],
  ["role-namespaces", { roleNamespaces: ["default"] }],
  ["ephemeral-agents", { agent: { extraConfig: { ephemeral: true } } }],
  ["asks-nodes", { agent: { extraConfig: { check_out_of_pods: true } } }],
  ["primary", { operator: { multiCluster: { enabled: true } } }],
  ["member", { operator: { multiClusterMember: true } }],
  [
    "member-groups",
    {
      operator: {
        multiClusterMember: true,
        multiClusterMemberIamGroup: "from-aws",
        multiClusterMemberAzureGroup: "from-azure"
      }
    }
  ],
  ["member-published-width", { rbac: { publishedWidth: true }, operator: { multiClusterMember: true } }],
  [
    "member-published-width-features",
    {
      rbac: { publishedWidth: true },
      operator: { multiClusterMember: true, genericBranching: true, sqsSplitting: true, previewEnv: true }
    }
  ],
  [
    "primary-and-member",
    { operator: { multiClusterMember: true, multiCluster: { enabled: true, managementOnly: false } } }
  ]
]

describeHelm("rights", (helm) => {
  const chart = new Chart(helm)

  beforeAll(() => chart.prepare(modes.map(([, values]) => ({ values }))))

  it.each(modes)("of mode %s", async (mode, values) => {
    await expect(rights(await chart.render({ values }))).toMatchFileSnapshot(`rbac/${mode}.txt`)
  })

  it.each([
    ["no", false],
    [true, true]
  ])("follow PRIMARY_MANAGEMENT_ONLY: %s", async (text, managementOnly) => {
    const render = (own: boolean, extraEnv: object) =>
      chart.render({ values: { operator: { multiCluster: { enabled: true, managementOnly: own }, extraEnv } } })
    const wanted = await render(managementOnly, {})
    const overridden = await render(!managementOnly, { PRIMARY_MANAGEMENT_ONLY: text })
    expect(rights(overridden)).toBe(rights(wanted))
    expect(overridden.file("multicluster-config.yaml")).toBe(wanted.file("multicluster-config.yaml"))
  })

  it("hold nothing on Secrets for engines of which no branch is made", async () => {
    const secretsOf = async (engine: string): Promise<number> => {
      const { objects } = await chart.render({ values: { operator: { [`${engine}Branching`]: true } } })
      const operator = objects.find(
        (object) => object.kind === "ClusterRole" && at(object, "metadata", "name") === "mirrord-operator"
      )
      return asList(at(operator, "rules")).filter((rule) => asList(at(rule, "resources")).includes("secrets")).length
    }
    expect(await Promise.all(["spanner", "pg"].map(secretsOf))).toEqual([0, 1])
  })

  it("of a published primary are all there with publishedWidth (R1 and R2 of published-chart.md §2.9)", async () => {
    const features = { genericBranching: true, sqsSplitting: true, previewEnv: true }
    const rendered = await chart.render({
      values: { rbac: { publishedWidth: true }, operator: { multiClusterMember: true, ...features } }
    })
    const rules = ["mirrord-operator-envoy", "mirrord-operator-envoy-remote"].flatMap((name) =>
      asList(rendered.get("ClusterRole", name)["rules"])
    )
    const may = (group: string, resource: string, verb: string): boolean =>
      rules.some((rule) =>
        [
          ["apiGroups", group],
          ["resources", resource],
          ["verbs", verb]
        ].every(([field = "", wanted]) => asList(at(rule, field)).includes(wanted))
      )
    const all = ["get", "list", "watch", "create", "update", "patch", "delete"]
    const expected: ReadonlyArray<readonly [string, ReadonlyArray<string>, ReadonlyArray<string>]> = [
      [
        "dbs.mirrord.metalbear.co",
        ["pgbranchdatabases", "mysqlbranchdatabases", "mongodbbranchdatabases", "branchdatabases"],
        all
      ],
      [
        "dbs.mirrord.metalbear.co",
        [
          "pgbranchdatabases/status",
          "mysqlbranchdatabases/status",
          "mongodbbranchdatabases/status",
          "branchdatabases/status"
        ],
        ["get", "update", "patch"]
      ],
      ["preview.mirrord.metalbear.co", ["previewsessions"], all],
      ["preview.mirrord.metalbear.co", ["previewsessions/status"], ["get", "update", "patch"]],
      ["operator.metalbear.co", ["mirrordoperators"], ["get"]],
      ["operator.metalbear.co", ["sessions"], ["get", "list", "delete"]],
      [
        "operator.metalbear.co",
        ["targets", "copytargets", "targets/port-locks", "queuesplits"],
        ["get", "list", "proxy"]
      ],
      ["operator.metalbear.co", ["copytargets"], ["create"]],
      ["queues.mirrord.metalbear.co", ["mirrordworkloadqueueregistries", "mirrordsplitconfigs"], all],
      ["mirrord.metalbear.co", ["mirrordpropertylists"], all],
      ["mirrord.metalbear.co", ["mirrordclustersessions"], ["get", "list", "watch", "create", "delete"]],
      ["mirrord.metalbear.co", ["mirrordclustersessions/status"], ["get", "watch"]],
      ["mirrord.metalbear.co", ["mirrordclusterworkloadpatchrequests"], ["create"]],
      ["", ["pods"], ["get", "list", "watch", "create", "patch", "delete"]],
      ["", ["services", "podtemplates"], ["get", "list", "watch"]],
      ["", ["secrets"], ["create"]],
      ["apps", ["deployments", "statefulsets", "replicasets", "daemonsets"], ["get", "list", "watch"]],
      ["argoproj.io", ["rollouts"], ["get", "list", "watch"]],
      ["queues.mirrord.metalbear.co", ["mirrordsqssessions"], ["get", "list", "watch", "create", "patch", "delete"]],
      ["queues.mirrord.metalbear.co", ["mirrordsqssessions/status"], ["get", "update", "patch"]],
      ["queues.mirrord.metalbear.co", ["mirrordclustersplitsessions"], all],
      ["queues.mirrord.metalbear.co", ["mirrordclustersplitsessions/status"], ["get", "update", "patch"]]
    ]
    const missing = expected.flatMap(([group, resources, verbs]) =>
      resources.flatMap((resource) =>
        verbs.filter((verb) => !may(group, resource, verb)).map((verb) => `${verb} ${resource}.${group}`)
      )
    )
    expect(missing).toEqual([])
  })
})

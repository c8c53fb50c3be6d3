/** Random values of the chart, most of them right. */

import fc from "fast-check"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { agentFields, type Shape } from "../../../src/domain/agents/agent-fields.ts"
import { mostly } from "./mostly.ts"
import { bounds, sessionTimes, variables } from "./variables.ts"

/** Values of `operator.multiCluster` as far as they decide whether the operator starts. */
export interface MultiCluster {
  readonly [field: string]: unknown
  readonly clusters: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const names = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      "a",
      "a-refreshed",
      "b",
      "hub",
      "primary",
      "Prod_EU",
      "prod_eu",
      `prod-eu-${sha256Hex("Prod_EU").slice(0, 6)}`,
      "Zürich",
      "12",
      "a.b",
      "x".repeat(64)
    )
  },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      " ",
      "\u00a0",
      "\ufeff",
      "a\nb",
      "\u0085",
      "y".repeat(253),
      "y".repeat(254),
      "𝒳".repeat(126),
      "𝒳".repeat(127),
      "é".repeat(253)
    )
  }
)
const cluster = fc.record(
  {
    authType: mostly(
      fc.constantFrom("bearerToken", "eks", "aks", "mtls"),
      fc.constantFrom("", "token", "EKS", 1, true, null)
    ),
    server: mostly(fc.constant("https://a.example.com"), fc.constantFrom("", " ", "\ufeff", null)),
    isDefault: mostly(fc.constantFrom(false, "", null), fc.constantFrom(true, "true", "false", "yes", 1, 0))
  },
  { requiredKeys: ["authType", "server"] }
)
const accessProvider = mostly(
  fc.record(
    {
      name: mostly(fc.constantFrom("a", "b"), fc.constantFrom("", null, 7)),
      profileSourcedCLIArgsPolicy: fc.constantFrom(null, "Ignore", "Append"),
      profileSourcedEnvVarsPolicy: fc.constantFrom("Ignore", "Replace"),
      execConfig: mostly(
        fc.record(
          {
            apiVersion: mostly(fc.constant("client.authentication.k8s.io/v1"), fc.constantFrom(null, "v1", 1)),
            command: mostly(fc.constantFrom("/p", "p"), fc.constantFrom("./p", "a/b", "", null, 7)),
            args: mostly(fc.constantFrom(null, [], ["a"], ["1", "yes"]), fc.constantFrom("a", [1], [null])),
            env: mostly(
              fc.constantFrom(null, [], [{ name: "A", value: "1" }], [{ name: "A" }]),
              fc.constantFrom({}, ["A"], [{ name: "A=B", value: "" }], [{ name: "A", value: null }], [{ value: "" }])
            ),
            provideClusterInfo: mostly(fc.constantFrom(true, false, null), fc.constantFrom("true", 1)),
            interactiveMode: mostly(fc.constantFrom("Never", "IfAvailable"), fc.constantFrom("Always", "", 1)),
            config: fc.constant({})
          },
          { requiredKeys: ["apiVersion", "command"] }
        ),
        fc.constantFrom(null, "p", [])
      )
    },
    { requiredKeys: ["name", "execConfig"] }
  ),
  fc.constantFrom("a", null, [])
)
export const accessProviderLists = mostly(fc.array(accessProvider, { maxLength: 2 }), fc.constantFrom({ a: 1 }, "a", 7))
export const multiClusters: fc.Arbitrary<MultiCluster> = fc.record(
  {
    clusters: fc.dictionary(names, cluster, { maxKeys: 3 }),
    clusterName: mostly(fc.constantFrom("hub", "Prod_EU", ""), fc.oneof(names, fc.constantFrom(null, 7))),
    defaultCluster: mostly(fc.constantFrom("", "a", "hub"), fc.oneof(names, fc.constantFrom(null, 12))),
    managementOnly: mostly(fc.boolean(), fc.constantFrom("true", "false", "", null, "no", 1, 0)),
    remoteSessionTimeoutSecs: mostly(
      fc.nat(),
      fc.constantFrom(0, null, -1, 1.5, "60", "0", "5m", 9007199254740991, 1_000_000)
    ),
    sessionTtlSecs: mostly(fc.nat(100), fc.constantFrom(0, null, -5, 0.1, "", "90", 1e15)),
    sessionStart: mostly(fc.constantFrom("default", "all"), fc.constantFrom("", null, "any")),
    providers: fc.constantFrom(
      [],
      null,
      ["kubeconfigSecrets"],
      ["clusterApi", "kubeconfigSecrets"],
      ["clusterProfile"]
    ),
    clusterApiNamespace: fc.constantFrom(null, "", "clusters", 7),
    clusterProfileNamespace: fc.constantFrom(null, "", "inventory", 7)
  },
  { requiredKeys: ["clusters"] }
)

const member = { server: "https://a.example.com", authType: "mtls" }
/** Values that are right in `operator.multiCluster`, as far as no variable makes them wrong. */
const rightMultiClusters: ReadonlyArray<MultiCluster> = [
  { enabled: false, clusters: {} },
  { enabled: true, clusters: {} },
  { enabled: true, defaultCluster: "a", clusters: { a: member } },
  { enabled: true, managementOnly: false, defaultCluster: "primary", clusters: { a: member } }
]

/**
 * Any of them may be not set, or not known to helm; helm then judges lease times and pairs no more, not even their
 * other parts.
 */
const notSet = ["", null]
const elsewhere = fc.constantFrom(...notSet, { valueFrom: { secretKeyRef: { name: "s", key: "k" } } })
const extraEnvs = fc.record(
  Object.fromEntries(
    Object.entries(variables).map(([name, values]): [string, fc.Arbitrary<unknown>] => [
      name,
      /^(MIRRORD_MULTICLUSTER|OPERATOR_AGENT)_CONFIG$/u.test(name)
        ? values
        : fc.oneof(
            { weight: 6, arbitrary: values as fc.Arbitrary<unknown> },
            {
              weight: 1,
              arbitrary: /^OPERATOR_(LEASE|POD|TLS)/u.test(name) ? fc.constantFrom(...notSet) : elsewhere
            }
          )
    ])
  ),
  { requiredKeys: [] }
)

/** Any value that a field of this shape may hold, and now and then some that it may not. */
const ofShape = (shape: Shape): fc.Arbitrary<unknown> => {
  const odd = fc.constantFrom<unknown>("x", "", 5, 1.5, -1, true, ["a"], [{}], { other: "x" }, [null], 5_000_000_000)
  switch (shape.kind) {
    case "text":
      return mostly(fc.constantFrom("a", "", "true"), odd)
    case "name":
      return mostly(fc.constantFrom("a", "a.b", ""), fc.constantFrom("A", "a b", 5, ["a"], {}))
    case "any":
      return odd
    case "truth":
      return mostly(fc.constantFrom(true, false), odd)
    case "quantity":
      return mostly(fc.constantFrom("1Gi", 1, 0.5), odd)
    case "references":
      return mostly(
        fc.constantFrom([{ name: "a" }], []),
        fc.constantFrom([{ name: "A" }], [5], [null], "a", { a: 1 }, {}, "", 0, false)
      )
    case "whole":
      return mostly(fc.integer({ min: shape.least, max: shape.most }), odd)
    case "words":
      return mostly(fc.constantFrom(...shape.words), odd)
    case "list":
      return mostly(fc.array(ofShape(shape.of), { maxLength: 2 }), odd)
    case "map":
      return mostly(fc.dictionary(fc.constantFrom("a", "b.c/d"), ofShape(shape.of), { maxKeys: 2 }), odd)
    case "fields":
    case "image": {
      const parts = Object.entries(shape.fields).map(([name, of]) => [name, fc.oneof(ofShape(of), fc.constant(null))])
      return mostly(
        fc.record(Object.fromEntries(parts) as Record<string, fc.Arbitrary<unknown>>, { requiredKeys: [] }),
        odd
      )
    }
  }
}
export const agentFiles = fc
  .tuple(
    fc.record(Object.fromEntries(Object.entries(agentFields).map(([name, shape]) => [name, ofShape(shape)])), {
      requiredKeys: []
    }),
    // A few at a time: among thirty, one is wrong all too often.
    fc.subarray(Object.keys(agentFields), { minLength: 1, maxLength: 4 })
  )
  .map(([all, names]) =>
    Object.fromEntries(
      Object.entries(all as Readonly<Record<string, unknown>>).filter(([name]) => names.includes(name))
    )
  )
export const installations = fc.record({
  multiCluster: fc.constantFrom(...rightMultiClusters),
  port: mostly(fc.constantFrom(443, "8443", 65535, "", null), fc.constantFrom(65536, "http", -1, 1.5, "99999")),
  agentPort: mostly(fc.constantFrom(61337, "8443", 0, "", null), fc.constantFrom(65536, "http", "01", "1e3", true)),
  sessionsPerUser: fc.oneof({ weight: 4, arbitrary: fc.constantFrom("", null) }, { weight: 6, arbitrary: bounds }),
  maxSessionTimeSeconds: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(0, "", null) },
    { weight: 6, arbitrary: sessionTimes }
  ),
  noPodTargetsSessionTimeoutMillis: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(0, "", null) },
    { weight: 6, arbitrary: sessionTimes }
  ),
  allowedNamespaces: mostly(
    fc.constantFrom([], null, ["kube-system"], ["a", "b"]),
    fc.constantFrom(["A"], ["a", "b c"], [1.5], [true, "-"])
  ),
  jsonLog: mostly(fc.constantFrom(true, false, "yes", "", null), fc.constantFrom("maybe", "False")),
  requireFrontProxyClientCert: mostly(fc.constantFrom(true, false, "0"), fc.constantFrom("maybe", " true")),
  extraEnv: fc.oneof(
    { weight: 2, arbitrary: extraEnvs },
    // A few at a time: among twenty, one is wrong all too often.
    {
      weight: 3,
      arbitrary: fc
        .tuple(extraEnvs, fc.subarray(Object.keys(variables), { minLength: 1, maxLength: 3 }))
        .map(([all, names]) => Object.fromEntries(names.map((name) => [name, all[name]])))
    }
  )
})
export type Installation = typeof installations extends fc.Arbitrary<infer One> ? One : never

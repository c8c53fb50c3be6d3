/** The queues of a workload as its configuration, its pod template and SQS say; and why they cannot be split. */

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { deployments } from "../../../src/domain/resources/core-kinds.ts"
import { registry, splitConfig, sqs } from "../../domain/queues/split-objects.ts"
import { it } from "../../support/effect-it.ts"
import { ResolveWorld, updatesIn } from "./resolve-world.ts"

const base = "https://sqs.eu-central-1.amazonaws.com/123456789012/"
const q = (value: string, name = "Q") => ({ name, value })
const from = (map: string, prefix = "") => ({ prefix, configMapRef: { name: map } })

/** A world in which one id has one reference, to variables of the container `app`. */
const worldOf = (reference: object, container: object = [q("orders")]): ResolveWorld => {
  const world = new ResolveWorld()
  world.configs = [splitConfig({ queues: [sqs("a", reference)] })]
  world.containers({ app: container })
  return world
}

const json = '{"queues":[{"name":"orders"},{"name":"refunds"}],"tries":3}'

/** A selector on a JSON value. */
const selecting = (valueSelector: string, value = json): ResolveWorld =>
  worldOf({ env: "Q", valueSelector }, [q(value)])

/** The queue's list of properties. */
const listed = (spec: object | undefined, namespace = "dev"): ResolveWorld => {
  const world = worldOf({ env: "Q" })
  world.configs = [splitConfig({ queues: [{ ...sqs("a", { env: "Q" }), queueConfig: "list" }] })]
  if (spec !== undefined) world.list("list", spec, namespace)
  return world
}

const changed = (change: (world: ResolveWorld) => void, world = worldOf({ env: "Q" })): ResolveWorld => {
  change(world)
  return world
}

/** A workload of another kind with a configuration. */
const ofKind = (kind: "statefulset" | "rollout", spec?: object): ResolveWorld =>
  changed((world) => {
    const apiVersion = kind === "rollout" ? "argoproj.io/v1alpha1" : "apps/v1"
    const targetRef = { apiVersion, kind: kind === "rollout" ? "Rollout" : "StatefulSet", name: "shop" }
    world.workload = { ...world.workload, kind }
    world.configs = [splitConfig({ targetRef, queues: [sqs("a", { env: "Q" })] })]
    world.spec = spec ?? world.spec
  })

const forms: ReadonlyArray<readonly [string, object, object, Readonly<Record<string, string>>]> = [
  ["a name", { env: "Q" }, [q("orders")], { Q: "tmp-orders" }],
  ["a URL", { env: "Q" }, [q(`${base}orders`)], { Q: `${base}tmp-orders` }],
  ["a ConfigMap", { env: "P_Q" }, { envFrom: [from("names", "P_")] }, { P_Q: "tmp-refunds" }],
  [
    "a key of a ConfigMap, to which another variable refers",
    { env: "Q" },
    [{ name: "Q", valueFrom: { configMapKeyRef: { name: "names", key: "Q" } } }, q("x-$(Q)", "X")],
    { Q: "tmp-refunds", X: "x-tmp-refunds" }
  ],
  [
    "a pattern of names, whose case counts",
    { envLike: "^Q_" },
    [q("orders", "Q_A"), q(`${base}refunds`, "Q_B"), q("none", "q_c")],
    { Q_A: "tmp-orders", Q_B: `${base}tmp-refunds` }
  ],
  ["a fallback", { env: "Q", fallback: "orders" }, [], { Q: "tmp-orders" }],
  [
    "a selector",
    { env: "Q", valueSelector: ".queues[].name # all" },
    [q(json)],
    { Q: json.replace("orders", "tmp-orders").replace("refunds", "tmp-refunds") }
  ],
  ["a JSON map", { env: "Q", valueSelector: ".[]" }, [q('{"o":"orders"}')], { Q: '{"o":"tmp-orders"}' }],
  [
    "a part of a value",
    { env: "Q", valuePattern: "(sqs)://(?P<value>[a-z]+)" },
    [q("sqs://orders?wait=1")],
    { Q: "sqs://tmp-orders?wait=1" }
  ]
]

describe("a resolved split", () => {
  it.live.each(forms)("has the queues of %s", function* ([, reference, container, wanted]) {
    const world = worldOf(reference, container)
    world.map("names", { Q: "refunds" })
    const split = yield* world.resolved()
    const updates = Object.entries(wanted).map(([name, value]) => [`app/${name}`, value])
    assert.deepStrictEqual(updatesIn(split), Object.fromEntries(updates))
  })

  it.live("has each queue once with its ids, its attributes and its options", function* () {
    const world = worldOf({}, [])
    const queueConfig = "options"
    const queues = [sqs("a", { env: "A" }), sqs("b", { env: "B" })].map((queue) => ({ ...queue, queueConfig }))
    world.configs = [splitConfig({ queues })]
    world.containers({ app: [q("orders", "A"), q(`${base}orders`, "B")] })
    world.list(queueConfig, { properties: [{ name: "sns", value: "true" }] })
    const { identityOf, sources } = yield* world.resolved()
    const identity = "arn:aws:sqs:eu-central-1:123456789012:orders"
    assert.deepStrictEqual(
      sources.map(({ attributes: { VisibilityTimeout }, ...source }) => ({ ...source, VisibilityTimeout })),
      [
        {
          identity,
          reference: "orders",
          url: `${base}orders`,
          name: "orders",
          ids: ["a", "b"],
          options: { jqTimeLimitMillis: 200, s3Event: false, sns: true, tags: {} },
          VisibilityTimeout: "30"
        }
      ]
    )
    assert.deepStrictEqual(["orders", `${base}orders`, "refunds"].map(identityOf), [identity, identity, undefined])
    const looked = world.sqs.calls.map(({ operation }) => operation).toSorted()
    assert.deepStrictEqual(looked, ["GetQueueAttributes", "GetQueueAttributes", "GetQueueUrl"])
  })

  it.live("is the same for a registry that means the same, but for the times", function* () {
    const world = worldOf({ env: "Q", containers: ["app"] })
    const ofConfig = yield* world.resolved()
    world.configs = []
    world.registries = [registry({ a: { queueType: "SQS", nameSource: { envVar: "Q" } } }, { container: "app" })]
    const ofRegistry = yield* world.resolved()
    assert.strictEqual(ofRegistry.digest, ofConfig.digest)
    assert.deepStrictEqual(ofRegistry.sources, ofConfig.sources)
    assert.deepStrictEqual([ofRegistry.times.drainMillis, ofConfig.times.drainMillis], [60_000, undefined])
  })

  it.live(
    "has another digest for other queues, ids and new values, not for other variables or another order",
    function* () {
      const digest = (env: object, variable = "Q") =>
        Effect.map(worldOf({ env: variable }, env).resolved(), (split) => split.digest)
      const first = yield* digest([q("orders"), q("-$(Q)", "R")])
      const others = [[q("refunds"), q("-$(Q)", "R")], [q(`${base}orders`), q("-$(Q)", "R")], [q("orders")]]
      const digests = yield* Effect.forEach(others, (env) => digest(env))
      assert.strictEqual(new Set([first, ...digests]).size, 4)
      assert.strictEqual(yield* digest([q("other", "Z"), q("orders"), q("-$(Q)", "R")]), first)
      const two = [q("orders"), q("orders", "R")]
      assert.notStrictEqual(yield* digest(two, "Q"), yield* digest(two, "R"))
      const renamed = worldOf({ env: "Q" }, [q("orders"), q("-$(Q)", "R")])
      renamed.configs = [splitConfig({ queues: [sqs("b", { env: "Q" })] })]
      assert.notStrictEqual((yield* renamed.resolved()).digest, first)
      const queues = [sqs("a", { env: "Q" }), sqs("b", { env: "R", containers: ["side"] })]
      const ordered = (all: typeof queues) => {
        const world = worldOf({})
        world.configs = [splitConfig({ queues: all })]
        world.containers({ app: two, side: two })
        return Effect.map(world.resolved(), (split) => split.digest)
      }
      assert.strictEqual(yield* ordered(queues), yield* ordered(queues.toReversed()))
    }
  )

  it.live("has the times of its configuration, and the operator's where that says none", function* () {
    const world = worldOf({ env: "Q" })
    const usual = { restartMillis: 60_000, strategy: "isolatePods", waitForPods: 1, ttlMillis: 0 } as const
    const ends = { drainMillis: undefined, nameTemplate: undefined }
    assert.deepStrictEqual((yield* world.resolved()).times, { ...usual, ...ends })
    world.settings = { isolatesPods: false, waitsForPods: false }
    assert.deepInclude((yield* world.resolved()).times, { strategy: "standard", waitForPods: 0 })
    const restart = { strategy: "isolatePods", timeout: 5, waitForPods: "all" }
    world.configs = [splitConfig({ queues: [sqs("a", { env: "Q" })], restart, ttl: 7, drainTimeout: 0 })]
    world.settings = { isolatesPods: false }
    const said = { restartMillis: 5_000, strategy: "isolatePods", waitForPods: "all", ttlMillis: 7_000 } as const
    assert.deepStrictEqual((yield* world.resolved()).times, { ...said, ...ends, drainMillis: 0 })
  })

  it.live("takes lists from the target's namespace, then from the operator's, which may read Secrets", function* () {
    const world = worldOf({ env: "Q" }, { envFrom: [from("names")] })
    const queue = (id: string, env: string) => ({ ...sqs(id, { env }), queueConfig: id })
    world.configs = [splitConfig({ queues: [queue("near", "Q"), queue("far", "R")] })]
    const tags = { name: "tags", valueFrom: { configMapKeyRef: { name: "names", key: "tags" } } }
    world.list("near", { properties: [tags] })
    world.list("near", { properties: [{ name: "sns", value: "true" }] }, "mirrord")
    world.list(
      "far",
      { propertiesFrom: [{ secretRef: { name: "far" } }, { configMapRef: { name: "far" } }] },
      "mirrord"
    )
    world.map("far", { jq_time_limit: "9" }, "mirrord")
    world.map("names", { Q: "orders", R: "refunds", tags: '{"team":"shop"}' })
    world.secret("far", { sns: "true" }, "mirrord")
    world.secret("far", { sns: "no" }, "dev")
    const { sources } = yield* world.resolved()
    assert.deepStrictEqual(
      sources.map(({ options }) => options),
      [
        { jqTimeLimitMillis: 200, s3Event: false, sns: false, tags: { team: "shop" } },
        { jqTimeLimitMillis: 9, s3Event: false, sns: true, tags: {} }
      ]
    )
    assert.deepStrictEqual([world.reads("configmaps"), world.reads("secrets")], [["far", "names"], ["far"]])
  })

  it.live("reads the template of the workload that a Rollout refers to", function* () {
    const world = ofKind("rollout", { workloadRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } })
    world.api.write(deployments, "web", { spec: worldOf({}).spec }, "dev")
    assert.deepStrictEqual(updatesIn(yield* world.resolved()), { "app/Q": "tmp-orders" })
  })

  it.live("is read in parallel, but with no more than eight requests at a time", function* () {
    const names = Array.from({ length: 20 }, (_, index) => `m${index}`)
    const world = worldOf({ env: "Q" }, { env: [q("orders")], envFrom: names.map((name) => from(name)) })
    let [now, most] = [0, 0]
    world.api.before = () =>
      Effect.gen(function* () {
        most = Math.max(most, ++now)
        yield* Effect.yieldNow
        now--
      })
    yield* world.resolved()
    assert.deepStrictEqual([most, world.reads("configmaps").length], [8, 20])
  })
})

const optionsDiffer = (): ResolveWorld =>
  changed((world) => {
    const queue = (id: string) => ({ queueType: "SQS", nameSource: { envVar: id }, sns: id === "A" })
    world.configs = []
    world.registries = [registry({ A: queue("A"), B: queue("B") })]
    world.containers({ app: [q("orders", "A"), q(`${base}orders`, "B")] })
  })

const refusals: ReadonlyArray<readonly [string, ResolveWorld, number, string]> = [
  [
    "no configuration",
    changed((world) => (world.configs = [])),
    404,
    'is for the Deployment "shop", container "app"; there is none at all.'
  ],
  [
    "two configurations",
    changed((world) => (world.configs = [...world.configs, ...world.configs])),
    400,
    "are all for the workload"
  ],
  [
    "no queue of SQS",
    changed((world) => (world.configs = [splitConfig({ queues: [{ id: "k", kind: "kafka", appConfig: {} }] })])),
    404,
    'MirrordSplitConfig "splits" has no queue of SQS, and this operator splits no others'
  ],
  [
    "a kind that is not split",
    ofKind("statefulset"),
    400,
    'The StatefulSet "shop" cannot have queues of SQS split: only a Deployment'
  ],
  ["a workload without pods", ofKind("rollout", {}), 400, 'The Rollout "shop" has no pod template'],
  [
    "a template that is not there",
    ofKind("rollout", { workloadRef: { kind: "Deployment", name: "web" } }),
    404,
    'has the pods of the Deployment "web" (spec.workloadRef), which is not in the namespace dev'
  ],
  [
    "no property list",
    listed(undefined),
    400,
    'There is no MirrordPropertyList "list" in the namespace dev or mirrord'
  ],
  [
    "a Secret of another namespace",
    listed({ propertiesFrom: [{ secretRef: { name: "s", optional: true } }] }),
    400,
    'in the namespace dev reads the Secret "s", but the operator reads Secrets in its own namespace mirrord alone'
  ],
  [
    "a property that is not there",
    listed({ propertiesFrom: [{ configMapRef: { name: "m" } }] }, "mirrord"),
    400,
    'reads the ConfigMap "m", which is not there'
  ],
  [
    "a property that cannot be used",
    listed({ properties: [{ name: "sns", value: "yes" }] }),
    400,
    'The MirrordPropertyList "list" has a property sns'
  ],
  [
    "an entry that cannot be used",
    changed(
      (world) => (world.registries = [registry({ a: { queueType: "SQS", nameSource: {} } })]),
      changed((world) => (world.configs = []))
    ),
    400,
    "neither a name nor a pattern"
  ],
  ["a variable that is not there", worldOf({ env: "X" }), 400, 'needs the variable "X"'],
  ["a pattern that cannot be used", worldOf({ envLike: "(" }), 400, '"(" is no regular expression'],
  [
    "a selector with a word that is refused",
    selecting("env"),
    400,
    "the valueSelector uses env, which reads the operator's environment: let it read the value alone."
  ],
  [
    "a selector that is no program",
    selecting(".a) | (.b"),
    400,
    'the valueSelector ".a) | (.b" gave no answer: syntax error'
  ],
  [
    "a selector that makes its own texts",
    selecting(".queues[].name | ascii_upcase"),
    400,
    'the valueSelector ".queues[].name | ascii_upcase" does not lead to parts of the value'
  ],
  ["a selector that yields a slice", selecting(".queues[0:1]"), 400, "does not lead to parts of the value"],
  ["a selector on another text", selecting(".a", "{"), 400, "is no JSON, which its valueSelector needs."],
  [
    "a foreign host",
    worldOf({ env: "Q" }, [q("https://sqs.example.com/1/orders")]),
    400,
    'is on the host "sqs.example.com"'
  ],
  [
    "a name that is not there",
    worldOf({ env: "Q" }, [q("none")]),
    404,
    'The queue "none", which the variable "Q" of the container "app" names, does not exist in the AWS account and ' +
      "region of the operator: create it, or let the variable name another one."
  ],
  [
    "a URL of the configured server that is not there",
    changed(
      (world) => (world.settings = { endpoint: "http://localhost:9324" }),
      worldOf({ env: "Q" }, [q("http://localhost:9324/000000000000/none")])
    ),
    404,
    "names, does not exist: create it"
  ],
  [
    "a missing right",
    changed((world) => (world.allows = (operation) => operation !== "GetQueueAttributes")),
    500,
    "cannot be read: GetQueueAttributes: refused with Denied; the operator's AWS identity needs " +
      "sqs:GetQueueAttributes for it."
  ],
  [
    "another refusal of SQS",
    changed(({ sqs: server }) => (server.refuse = () => "Other")),
    500,
    "cannot be read: GetQueueUrl: refused with Other."
  ],
  [
    "a queue with two sets of options",
    optionsDiffer(),
    400,
    'The ids "A" and "B" of MirrordWorkloadQueueRegistry "registry" are one queue, "orders", with different options'
  ],
  [
    "a value that cannot follow",
    worldOf({ env: "Q" }, [q("orders"), q("$(Q)$(X)", "R")]),
    400,
    "its new value is not known"
  ]
]

describe("a split that cannot be resolved", () => {
  it.live.each(refusals)("is refused for %s", function* ([, world, code, why]) {
    const refused = yield* world.refused()
    assert.strictEqual(refused.code, code)
    assert.include(refused.why, why)
  })

  it.live("is refused where the operator may not read an object, which is named", function* () {
    const world = worldOf({ env: "Q" }, { envFrom: [from("names")] })
    world.api.before = ({ name }) => world.api.objects.error(`get ${name}`, "Forbidden", "configmaps is forbidden.")
    const { code, why } = yield* world.refused()
    assert.strictEqual(code, 403)
    assert.strictEqual(
      why,
      'The operator may not read the ConfigMap "names" in the namespace dev: configmaps is forbidden; ' +
        "give it the right to."
    )
  })

  it.live("fails for now where a server does not answer", function* () {
    const world = worldOf({ env: "Q" }, { envFrom: [from("names")] })
    world.map("names", { Q: "orders" })
    for (const reason of ["Throttled", "Unavailable", "NotLeading"] as const) {
      world.sqs.refuse = () => reason
      assert.deepInclude(yield* Effect.flip(world.resolve()), { _tag: "QueueError", reason })
    }
    world.api.setReachable(false)
    assert.deepInclude(yield* Effect.flip(world.resolve()), { _tag: "KubeError", reason: "Unreachable" })
  })
})

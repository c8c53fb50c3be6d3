import { expect } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { asObject, asObjects, at, type JsonObject } from "../../../src/domain/json.ts"
import { eventually } from "../../lab/cluster/api-client.ts"
import {
  type AdmissionWebhook,
  patched,
  startAdmissionWebhook,
  type WebhookAnswer
} from "../../support/admission-webhook.ts"
import { configMap, type ConformanceCase, type Context, expectStatus, mapsOf } from "./context.ts"
import { service } from "./services.ts"

const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
const podRule = { apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }
const minimal = { admissionReviewVersions: ["v1"], sideEffects: "None", rules: [podRule] }

const configuration = (name: string, ...webhooks: ReadonlyArray<JsonObject>): JsonObject => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "MutatingWebhookConfiguration",
  metadata: { name },
  webhooks
})

const pod = (labels: Record<string, string> = {}, metadata: JsonObject = { name: "p" }): JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { labels, ...metadata },
  spec: { containers: [{ name: "c", image: "x", env: ["A", "B"].map((name) => ({ name, value: name })) }] }
})

/** The webhooks of a case, which see its own namespace only. */
class WebhooksOfCase {
  readonly context: Context
  readonly server: AdmissionWebhook
  readonly pods: string

  constructor(context: Context, server: AdmissionWebhook) {
    this.context = context
    this.server = server
    this.pods = `/api/v1/namespaces/${context.namespace}/pods`
  }

  /** A webhook whose path is its name. */
  webhook(name: string, more: JsonObject = {}): JsonObject {
    const { caBundle, port } = this.server
    return {
      name: `${name}.example.com`,
      clientConfig: { url: `https://127.0.0.1:${port}/${name}`, caBundle },
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": this.context.namespace } },
      ...minimal,
      ...more
    }
  }

  /** Stores a configuration, and waits until it is in force: a real server reads it a moment later. */
  async use(name: string, ...webhooks: ReadonlyArray<JsonObject>): Promise<void> {
    const { admin, namespace } = this.context
    const first = `first-${name}`
    const probe = this.webhook(first, { objectSelector: { matchLabels: { probe: name } } })
    const sent = configuration(`${namespace}-${name}`, probe, ...webhooks)
    expect(await admin.post(configurations, sent)).toMatchObject({ code: 201 })
    await eventually(
      () => admin.post(`${this.pods}?dryRun=All`, pod({ probe: name })),
      () => this.server.seen.some(({ path }) => path === `/${first}`)
    )
    this.server.seen.length = 0
  }

  /** The paths that a creation asked, with its answer. */
  async create(labels: Record<string, string> = {}, path = `${this.pods}?dryRun=All`, object = pod(labels)) {
    const answer = await this.context.admin.post(path, object)
    const asked = this.server.seen.map((call) => call.path.slice(1))
    this.server.seen.length = 0
    return { answer, asked }
  }
}

const run = (
  name: string,
  answer: (path: string, request: JsonObject) => WebhookAnswer,
  steps: (webhooks: WebhooksOfCase, context: Context) => Promise<void>
): ConformanceCase => ({
  name: `webhooks: ${name}`,
  run: async (context) => {
    const server = await startAdmissionWebhook(`hook.${context.namespace}.svc`, answer)
    try {
      await steps(new WebhooksOfCase(context, server), context)
    } finally {
      server.close()
      const { admin, namespace } = context
      for (const item of asObjects((await admin.get(configurations)).body["items"])) {
        const own = String(at(item, "metadata", "name"))
        if (own.startsWith(`${namespace}-`)) await admin.delete(`${configurations}/${own}`)
      }
    }
  }
})

const allow = (): JsonObject => ({ allowed: true })
const add = (label: string): JsonObject => patched({ op: "add", path: `/metadata/labels/${label}`, value: "1" })

const desired = "desired format: https://host[/path]"

/** A configuration with one webhook, changed in one place, and the words in which it is refused. */
const wrong: ReadonlyArray<readonly [change: JsonObject, message: string]> = [
  [{ name: undefined }, "name: Required value"],
  [{ name: "a.b" }, 'name: Invalid value: "a.b": should be a domain with at least three segments separated by dots'],
  [{ clientConfig: {} }, "clientConfig: Required value: exactly one of url or service is required"],
  [
    { clientConfig: { url: "https://x", service: { name: "s", namespace: "n" } } },
    "clientConfig: Required value: exactly one of url or service is required"
  ],
  [
    { clientConfig: { url: "http://x" } },
    `clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; ${desired}`
  ],
  [{ clientConfig: { url: "https:///y" } }, `clientConfig.url: Invalid value: "": host must be specified; ${desired}`],
  [
    { clientConfig: { url: "https://x/y?a=b" } },
    'clientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL'
  ],
  [{ clientConfig: { service: { namespace: "n" } } }, "clientConfig.service.namespace: Required value"],
  [{ clientConfig: { service: { name: "s" } } }, "clientConfig.service.name: Required value"],
  [
    { clientConfig: { service: { name: "s", namespace: "n", port: 0 } } },
    "clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"
  ],
  [
    { clientConfig: { service: { name: "s", namespace: "n", path: "a" } } },
    `clientConfig.service.path: Invalid value: "a": must start with a '/'`
  ],
  [
    { clientConfig: { service: { name: "s", namespace: "n", path: "/a//b" } } },
    'clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty'
  ],
  [{ admissionReviewVersions: undefined }, "admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
  [
    { admissionReviewVersions: ["v2"] },
    'admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1'
  ],
  [{ sideEffects: undefined }, "sideEffects: Required value: must specify one of None, NoneOnDryRun"],
  [{ sideEffects: "Some" }, 'sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
  [{ timeoutSeconds: 31 }, "timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"],
  [{ timeoutSeconds: 0 }, "timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds"],
  [{ failurePolicy: "x" }, 'failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"'],
  [{ matchPolicy: "x" }, 'matchPolicy: Unsupported value: "x": supported values: "Equivalent", "Exact"'],
  [{ reinvocationPolicy: "x" }, 'reinvocationPolicy: Unsupported value: "x": supported values: "IfNeeded", "Never"'],
  [
    { objectSelector: { matchExpressions: [{ key: "a", operator: "x" }] } },
    'objectSelector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator'
  ],
  [
    { namespaceSelector: { matchExpressions: [{ key: "a", operator: "In" }] } },
    "namespaceSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
  ],
  [{ rules: [{ ...podRule, resources: [] }] }, "rules[0].resources: Required value"],
  [
    { rules: [{ ...podRule, operations: ["x"] }] },
    'rules[0].operations[0]: Unsupported value: "x": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"'
  ],
  [
    { rules: [{ ...podRule, scope: "x" }] },
    'rules[0].scope: Unsupported value: "x": supported values: "*", "Cluster", "Namespaced"'
  ]
]

const calling = 'Internal error occurred: failed calling webhook "w.example.com": '
const invalidAnswer = `${calling}received invalid webhook response: `

/** Answers that count as none, with the words of the failure. */
const noAnswers: ReadonlyArray<readonly [answer: WebhookAnswer, message: string | RegExp]> = [
  [{ uid: "other" }, new RegExp(`^${invalidAnswer}expected response.uid="[-0-9a-f]{36}", got "other"$`)],
  [{ review: { response: undefined } }, `${invalidAnswer}webhook response was absent`],
  [
    { review: { apiVersion: undefined, kind: undefined } },
    `${invalidAnswer}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=`
  ],
  [{ allowed: true, patch: "W10=" }, `${invalidAnswer}webhook returned response.patch but not response.patchType`],
  [
    { allowed: true, patchType: "JSONPatch" },
    `${invalidAnswer}webhook returned response.patchType but not response.patch`
  ],
  [{ ...patched(), patch: "e30=" }, /: received undecodable patch in webhook response: /],
  [{ status: 404, body: "" }, `${calling}failed to call webhook: the server could not find the requested resource`],
  [
    { status: 500, body: "boom" },
    `${calling}failed to call webhook: an error on the server ("boom") has prevented the request from succeeding`
  ]
]

/** Refusals of a webhook, with what the server makes of them. */
const denials: ReadonlyArray<readonly [result: unknown, code: number, reason: string | undefined, why: string]> = [
  [{ message: "no way" }, 400, undefined, ": no way"],
  [{ message: "no way", code: 403, reason: "Forbidden" }, 403, "Forbidden", ": no way"],
  [{ reason: "Forbidden", code: 200 }, 400, "Forbidden", ": Forbidden"],
  [undefined, 400, undefined, " without explanation"]
]

let answerNow: WebhookAnswer = {}
const unused = "https://127.0.0.1:1"

export const webhookCases: ReadonlyArray<ConformanceCase> = [
  run("have defaults", allow, async (_, { admin, namespace }) => {
    const client = (service: JsonObject) => ({ service: { namespace, name: "s", ...service } })
    const webhook = { name: "a.example.com", ...minimal, clientConfig: client({}) }
    const { body, code } = await admin.post(`${configurations}?dryRun=All`, configuration("d", webhook))
    expect(code, JSON.stringify(body)).toBe(201)
    expect(body).toMatchObject({ metadata: { generation: 1 } })
    expect(body["webhooks"]).toEqual([
      {
        ...webhook,
        clientConfig: client({ port: 443 }),
        rules: [{ ...podRule, scope: "*" }],
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        reinvocationPolicy: "Never",
        timeoutSeconds: 10,
        namespaceSelector: {},
        objectSelector: {}
      }
    ])
  }),
  run("wrong ones are refused", allow, async (_, { admin }) => {
    for (const [change, message] of wrong) {
      const one = { name: "a.example.com", ...minimal, clientConfig: { url: unused }, ...change }
      const refused = 'MutatingWebhookConfiguration.admissionregistration.k8s.io "w" is invalid: '
      const answer = await admin.post(`${configurations}?dryRun=All`, configuration("w", one))
      const text = String(answer.body["message"])
      expect([answer.code, text.replace(/^(.*: )\[(.*?), webhooks.*\]$/u, "$1$2")]).toEqual([
        422,
        `${refused}webhooks[0].${message}`
      ])
    }
    const twice = { name: "a.example.com", ...minimal, clientConfig: { url: unused } }
    const answer = await admin.post(`${configurations}?dryRun=All`, configuration("w", twice, twice))
    expectStatus(answer, 422, "Invalid", /: webhooks\[1\]\.name: Duplicate value: "a\.example\.com"$/)
  }),
  run(
    "a pod is changed on its way through a Service, and gets defaults again",
    (path) =>
      path === "/pods"
        ? patched(
            { op: "replace", path: "/spec/containers/0/env/1/value", value: "9" },
            { op: "add", path: "/spec/containers/-", value: { name: "d", image: "y" } },
            { op: "add", path: "/spec/nope", value: 1 }
          )
        : allow(),
    async (webhooks, { admin, namespace }) => {
      const { caBundle, port } = webhooks.server
      const external = { type: "ExternalName", externalName: "localhost", ports: [{ port }] }
      expect((await admin.post(`/api/v1/namespaces/${namespace}/services`, service("hook", external))).code).toBe(201)
      const client = { service: { name: "hook", namespace, path: "/pods", port }, caBundle }
      await webhooks.use("a", webhooks.webhook("a", { clientConfig: client, failurePolicy: "Ignore" }))
      const created = await eventually(
        () => admin.post(`${webhooks.pods}?fieldManager=me`, pod({}, { generateName: "g-" })),
        () => webhooks.server.seen.length > 0
      )
      expect(created.code).toBe(201)
      const [call] = webhooks.server.seen
      expect(call?.request).toMatchObject({
        kind: { group: "", version: "v1", kind: "Pod" },
        resource: { group: "", version: "v1", resource: "pods" },
        requestKind: { group: "", version: "v1", kind: "Pod" },
        requestResource: { group: "", version: "v1", resource: "pods" },
        namespace,
        operation: "CREATE",
        userInfo: { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] },
        object: { metadata: { generateName: "g-", namespace }, spec: { restartPolicy: "Always" } },
        oldObject: null,
        dryRun: false,
        options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "me" }
      })
      expect(at(call?.request, "object", "status")).toEqual({})
      expect(call?.request).not.toHaveProperty("name")
      expect(at(call?.request, "object", "metadata")).not.toHaveProperty("name")
      expect(at(call?.request, "object", "metadata")).not.toHaveProperty("uid")
      const { spec } = created.body
      expect(asObjects(at(spec, "containers"))).toMatchObject([
        { env: [{ value: "A" }, { value: "9" }] },
        { name: "d", imagePullPolicy: "Always", terminationMessagePath: "/dev/termination-log" }
      ])
      expect(spec).not.toHaveProperty("nope")
      expect((await admin.post(`${webhooks.pods}?dryRun=All`, pod())).code).toBe(201)
      const dry = { name: "p", dryRun: true, options: { dryRun: ["All"] } }
      expect(webhooks.server.seen.at(-1)?.request).toMatchObject(dry)
    }
  ),
  run("are asked about what their rules and selectors name", allow, async (webhooks, { namespace }) => {
    const having = (change: JsonObject) => ({ rules: [{ ...podRule, ...change }] })
    const expression = (operator: string, ...values: ReadonlyArray<string>) => ({
      objectSelector: { matchExpressions: [{ key: "app", operator, ...(values.length === 0 ? {} : { values }) }] }
    })
    await webhooks.use(
      "a",
      webhooks.webhook("pods"),
      webhooks.webhook("all", having({ apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], operations: ["*"] })),
      webhooks.webhook("namespaced", having({ scope: "Namespaced" })),
      webhooks.webhook("cluster", having({ resources: ["*"], scope: "Cluster" })),
      webhooks.webhook("version", having({ apiVersions: ["v2"] })),
      webhooks.webhook("group", having({ apiGroups: ["apps"] })),
      webhooks.webhook("update", having({ operations: ["UPDATE"] })),
      webhooks.webhook("subresource", having({ resources: ["pods/status"] })),
      webhooks.webhook("in", expression("In", "a", "b")),
      webhooks.webhook("not-in", expression("NotIn", "a")),
      webhooks.webhook("exists", expression("Exists")),
      webhooks.webhook("absent", expression("DoesNotExist")),
      webhooks.webhook("elsewhere", { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "other" } } })
    )
    const always = ["pods", "all", "namespaced"]
    expect(await webhooks.create()).toMatchObject({ asked: [...always, "not-in", "absent"] })
    expect(await webhooks.create({ app: "a" })).toMatchObject({ asked: [...always, "in", "exists"] })
    expect((await webhooks.create({}, mapsOf(namespace), configMap("m"))).asked).toEqual(["all"])
    const missing = await webhooks.create({}, "/api/v1/namespaces/gone/pods")
    expect([missing.answer.code, missing.asked]).toEqual([404, []])
    const every = { rules: [{ ...podRule, apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }] }
    const open = { ...every, namespaceSelector: {}, objectSelector: { matchLabels: { own: namespace } } }
    await webhooks.use("b", webhooks.webhook("open", open))
    const labels = { own: namespace }
    const own = configuration(`${namespace}-c`, webhooks.webhook("own"))
    expect(
      (await webhooks.create({}, configurations, { ...own, metadata: { ...asObject(own["metadata"]), labels } })).asked
    ).toEqual([])
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: `${namespace}-node`, labels } }
    expect((await webhooks.create({}, "/api/v1/nodes?dryRun=All", node)).asked).toEqual(["all", "cluster", "open"])
  }),
  run(
    "are asked in order, and again if another one changed the object",
    (path) => (path.startsWith("/change") ? add("changed") : allow()),
    async (webhooks) => {
      const again = { reinvocationPolicy: "IfNeeded" }
      const selecting = (app: string) => ({ objectSelector: { matchLabels: { app } } })
      await webhooks.use("b", webhooks.webhook("b1", again), webhooks.webhook("b2"))
      await webhooks.use("a", webhooks.webhook("a1", again), webhooks.webhook("a2"))
      const changed = { ...again, objectSelector: { matchLabels: { changed: "1" } } }
      const changes = [webhooks.webhook("change1", selecting("x")), webhooks.webhook("c", changed)]
      await webhooks.use("c", ...changes, webhooks.webhook("change2", selecting("x")))
      const first = ["a1", "a2", "b1", "b2"]
      expect((await webhooks.create()).asked).toEqual(first)
      const { answer, asked } = await webhooks.create({ app: "x" })
      expect(asked).toEqual([...first, "change1", "c", "change2", "a1", "b1"])
      expect(answer.body).toMatchObject({ metadata: { labels: { app: "x", changed: "1" } } })
      // The first patch counts as a change, though it changes no value here.
      expect((await webhooks.create({ app: "x", changed: "1" })).asked).toEqual(asked)
    }
  ),
  run(
    "deny, and leave wrong objects",
    (path) => (path === "/w" ? answerNow : allow()),
    async (webhooks) => {
      await webhooks.use("a", webhooks.webhook("w", { failurePolicy: "Ignore" }))
      for (const [status, code, reason, why] of denials) {
        answerNow = { allowed: false, status }
        const { answer } = await webhooks.create()
        expectStatus(answer, code, reason, `admission webhook "w.example.com" denied the request${why}`)
      }
      answerNow = patched({ op: "remove", path: "/spec/containers" })
      expectStatus(
        (await webhooks.create()).answer,
        422,
        "Invalid",
        'Pod "p" is invalid: spec.containers: Required value'
      )
      answerNow = patched({ op: "add", path: "/spec/nodeName", value: 1 })
      expectStatus(
        (await webhooks.create()).answer,
        500,
        "InternalError",
        /^Internal error occurred: json: cannot unmarshal number into Go struct field PodSpec\.spec\.nodeName of type /
      )
      answerNow = patched({ op: "remove", path: "/spec/missing" })
      expectStatus((await webhooks.create()).answer, 500, "InternalError", /^Internal error occurred: /)
      answerNow = patched({ op: "replace", path: "/metadata/namespace", value: "other" })
      expectStatus(
        (await webhooks.create()).answer,
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request"
      )
    }
  ),
  run(
    "that do not answer as they should fail the request, or are ignored",
    (path) => (path === "/w" ? answerNow : allow()),
    async (webhooks) => {
      await webhooks.use(
        "a",
        webhooks.webhook("w", { objectSelector: { matchLabels: { policy: "fail" } } }),
        webhooks.webhook("w", { name: "x.example.com", failurePolicy: "Ignore" })
      )
      for (const [answer, message] of noAnswers) {
        answerNow = answer
        expectStatus((await webhooks.create({ policy: "fail" })).answer, 500, "InternalError", message)
        const ignored = await webhooks.create()
        expect([ignored.answer.code, ignored.asked]).toEqual([201, ["w"]])
      }
      answerNow = patched()
      expect((await webhooks.create({ policy: "fail" })).answer.code).toBe(201)
    }
  ),
  run(
    "that cannot be reached fail the request, or are ignored",
    (path) => (path === "/w" ? "never" : allow()),
    async (webhooks, { admin, namespace }) => {
      const { caBundle, port } = webhooks.server
      const other = Buffer.from((await createAuthority("other", Date.now)).caPem).toString("base64")
      const to = (clientConfig: JsonObject) => ({ clientConfig: { caBundle, ...clientConfig } })
      const local = `https://127.0.0.1:${port}`
      const host = `https://hook.${namespace}.svc`
      const viaService = (port: number) => ({ service: { name: "hook", namespace, path: "/w", port } })
      const untrusted = "tls: failed to verify certificate: x509: certificate "
      const cases: ReadonlyArray<readonly [string, JsonObject, string]> = [
        ["slow", { timeoutSeconds: 1 }, `${local}/w?timeout=1s": context deadline exceeded`],
        ["no-port", to({ url: unused }), `${unused}/?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused`],
        [
          "ca",
          to({ url: `${local}/w`, caBundle: other }),
          `${local}/w?timeout=10s": ${untrusted}signed by unknown authority`
        ],
        [
          "name",
          to({ url: `https://localhost:${port}/w` }),
          `https://localhost:${port}/w?timeout=10s": ${untrusted}is valid for hook.${namespace}.svc, not localhost`
        ],
        ["no-service", to(viaService(443)), `${host}:443/w?timeout=10s": service "hook" not found`],
        [
          "wrong-port",
          to({ service: { ...viaService(444).service, name: "other" } }),
          `https://other.${namespace}.svc:444/w?timeout=10s": no service port 444 found for service "other"`
        ]
      ]
      const ports = { ports: [{ port: 80 }] }
      expect((await admin.post(`/api/v1/namespaces/${namespace}/services`, service("other", ports))).code).toBe(201)
      const hooks = cases.map(([name, change]) =>
        webhooks.webhook("w", {
          name: `${name}.example.com`,
          objectSelector: { matchLabels: { app: name } },
          ...change
        })
      )
      const ignored = { ...to({ url: unused }), failurePolicy: "Ignore" }
      await webhooks.use("a", webhooks.webhook("ignored", ignored), ...hooks)
      for (const [name, , why] of cases) {
        const { answer } = await webhooks.create({ app: name })
        const called = calling.replace("w.", `${name}.`)
        expectStatus(answer, 500, "InternalError", `${called}failed to call webhook: Post "${why}`)
      }
      expect((await webhooks.create()).answer.code).toBe(201)
    }
  )
]

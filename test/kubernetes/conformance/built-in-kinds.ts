import { expect } from "vitest"
import { asObject, at, type JsonObject, omit } from "../../../src/domain/json.ts"
import type { Answer } from "../../lab/cluster/api-client.ts"
import { configMap, type ConformanceCase, type Context, expectStatus, widget, withWidgets } from "./context.ts"

const groups = {
  Deployment: ["apps/v1", "deployments"],
  StatefulSet: ["apps/v1", "statefulsets"],
  DaemonSet: ["apps/v1", "daemonsets"],
  ReplicaSet: ["apps/v1", "replicasets"],
  Job: ["batch/v1", "jobs"],
  CronJob: ["batch/v1", "cronjobs"],
  Lease: ["coordination.k8s.io/v1", "leases"],
  Service: ["v1", "services"],
  Secret: ["v1", "secrets"],
  ConfigMap: ["v1", "configmaps"],
  Event: ["v1", "events"],
  Pod: ["v1", "pods"],
  ServiceAccount: ["v1", "serviceaccounts"]
} as const

type Kind = keyof typeof groups

const collectionOf = (kind: Kind, namespace: string): string => {
  const [version, resource] = groups[kind]
  return `/${version === "v1" ? "api" : "apis"}/${version}/namespaces/${namespace}/${resource}`
}

const object = (kind: Kind, rest: JsonObject): JsonObject => ({
  apiVersion: groups[kind][0],
  kind,
  metadata: { name: "x" },
  ...rest
})

const template = (pod: JsonObject = {}, container: JsonObject = {}): JsonObject => ({
  template: {
    metadata: { labels: { app: "a" } },
    spec: { containers: [{ name: "c", image: "i", ...container }], ...pod }
  }
})

const selector = { selector: { matchLabels: { app: "a" } } }

const deployment = (spec: JsonObject = {}, pod: JsonObject = {}, container: JsonObject = {}): JsonObject =>
  object("Deployment", { spec: { ...selector, ...template(pod, container), ...spec } })

const job = (spec: JsonObject = {}): JsonObject =>
  object("Job", { spec: { ...template({ restartPolicy: "Never" }), ...spec } })

const post = ({ admin, namespace }: Context, body: JsonObject, query = ""): Promise<Answer> =>
  admin.post(`${collectionOf(body["kind"] as Kind, namespace)}${query}`, body)

/** Several refused requests with the same code and reason, each with the words of its refusal. */
const allRefused = (
  name: string,
  code: number,
  reason: string | undefined,
  attempts: ReadonlyArray<readonly [ask: (context: Context) => Promise<Answer>, message: string | RegExp]>,
  before: ReadonlyArray<JsonObject> = []
): ConformanceCase => ({
  name: `built-in kinds: ${name}`,
  run: async (context) => {
    for (const body of before) expect((await post(context, body)).code).toBe(201)
    for (const [ask, message] of attempts) expectStatus(await ask(context), code, reason, message)
  }
})

/** Objects that cannot be created, each with the words after `<Kind> "x" is invalid: `. */
const invalid = (name: string, attempts: ReadonlyArray<readonly [JsonObject, string | RegExp]>): ConformanceCase =>
  allRefused(
    name,
    422,
    "Invalid",
    attempts.map(([body, message]) => {
      const [version] = String(body["apiVersion"]).split("/").slice(0, -1)
      const prefix = `${String(body["kind"])}${version === undefined ? "" : `.${version}`} "x" is invalid: `
      return [
        (context: Context) => post(context, body),
        typeof message === "string" ? prefix + message : message
      ] as const
    })
  )

/** {@link invalid} for pod templates, inside of a Deployment. */
const invalidPods = (
  name: string,
  attempts: ReadonlyArray<readonly [pod: JsonObject, container: JsonObject, message: string | RegExp]>
): ConformanceCase =>
  invalid(
    name,
    attempts.map(([pod, container, message]) => [
      deployment({}, pod, container),
      typeof message === "string" ? `spec.template.spec.${message}` : message
    ])
  )

const unreadable = (kind: Kind, problem: string): string =>
  `${kind} in version "v1" cannot be handled as a ${kind}: ${problem}`

const wrongType = (found: string, field: string, wanted: string, kind: Kind = "Deployment"): string =>
  unreadable(kind, `json: cannot unmarshal ${found} into Go struct field ${field} of type ${wanted}`)

const posted =
  (body: JsonObject, query = "") =>
  (context: Context): Promise<Answer> =>
    post(context, body, query)

const patched =
  (kind: Kind, how: "merge" | "strategic" | "jsonPatch" | "put", patch: unknown, query = "") =>
  ({ admin, namespace }: Context): Promise<Answer> =>
    admin[how](`${collectionOf(kind, namespace)}/x${query}`, patch)

const yaml =
  (kind: Kind, body: string, query = "") =>
  ({ admin, namespace }: Context): Promise<Answer> =>
    admin.call("POST", `${collectionOf(kind, namespace)}${query}`, { body, contentType: "application/yaml" })

const warningsOf = (answer: Answer): ReadonlyArray<string> =>
  [answer.headers["warning"] ?? []]
    .flat()
    .flatMap((text) =>
      [...text.matchAll(/299 - ("(?:[^"\\]|\\.)*")/g)].map(([, quoted]) => String(JSON.parse(quoted ?? '""')))
    )

const dns =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " +
  "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const image = "spec.template.spec.containers"
const portRange = "must be between 1 and 65535, inclusive"
const negative = "must be greater than or equal to 0"
const mismatch =
  'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`'
const quantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const secretVolume = { volumes: [{ name: "v", secret: { secretName: "s" } }] }
const httpGet = { httpGet: { port: 80 } }

const ofWrongType = [
  allRefused("numbers and booleans of another type", 400, "BadRequest", [
    [posted(deployment({ replicas: "3" })), wrongType("string", "DeploymentSpec.spec.replicas", "int32")],
    [posted(deployment({ replicas: 1.5 })), wrongType("number 1.5", "DeploymentSpec.spec.replicas", "int32")],
    [posted(deployment({ replicas: 3e9 })), wrongType("number 3000000000", "DeploymentSpec.spec.replicas", "int32")],
    [posted(deployment({ replicas: {} })), wrongType("object", "DeploymentSpec.spec.replicas", "int32")],
    [posted(deployment({ paused: 1 })), wrongType("number", "DeploymentSpec.spec.paused", "bool")],
    [
      posted(deployment({}, { securityContext: { runAsUser: "0" } })),
      wrongType("string", "PodSecurityContext.spec.template.spec.securityContext.runAsUser", "int64")
    ]
  ]),
  allRefused("texts, lists and objects of another type", 400, "BadRequest", [
    [posted(deployment({ template: [] })), wrongType("array", "DeploymentSpec.spec.template", "v1.PodTemplateSpec")],
    [posted(deployment({}, { containers: {} })), wrongType("object", `PodSpec.${image}`, "[]v1.Container")],
    [posted(deployment({}, { containers: ["c"] })), wrongType("string", `PodSpec.${image}`, "v1.Container")],
    [posted(deployment({}, {}, { image: true })), wrongType("bool", `Container.${image}.image`, "string")],
    [posted(deployment({}, {}, { command: "sh" })), wrongType("string", `Container.${image}.command`, "[]string")],
    [
      posted(deployment({}, {}, { env: [{ name: "A", value: 1 }] })),
      wrongType("number", `EnvVar.${image}.env.value`, "string")
    ],
    [
      posted(deployment({ selector: { matchLabels: { app: true } } })),
      wrongType("bool", "LabelSelector.spec.selector.matchLabels", "string")
    ],
    [
      posted(deployment({}, { volumes: [{ name: "v", secret: "s" }] })),
      / string into Go struct field Volume\.spec\.template\.spec\.volumes\.(VolumeSource\.)?secret of type v1\.SecretVolumeSource$/
    ]
  ]),
  allRefused("what reads JSON itself", 400, "BadRequest", [
    [
      posted(deployment({}, {}, { livenessProbe: { httpGet: { port: true } } })),
      / bool into Go struct field HTTPGetAction\.spec\.template\.spec\.containers\.livenessProbe\.(ProbeHandler\.)?httpGet\.port of type int32$/
    ],
    [posted(deployment({}, {}, { resources: { limits: { cpu: "abc" } } })), unreadable("Deployment", quantity)],
    [
      posted(deployment({}, {}, { resources: { limits: "1" } })),
      wrongType("string", `ResourceRequirements.${image}.resources.limits`, "v1.ResourceList")
    ],
    [posted(object("Secret", { data: { a: "%%" } })), unreadable("Secret", "illegal base64 data at input byte 0")],
    [posted(object("Secret", { data: { a: "YQ" } })), unreadable("Secret", "illegal base64 data at input byte 0")],
    [posted(object("Secret", { data: { a: 1 } })), wrongType("number", "Secret.data", "[]uint8", "Secret")],
    [
      posted(object("Lease", { spec: { renewTime: "now" } })),
      unreadable("Lease", 'parsing time "now" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "now" as "2006"')
    ],
    [
      posted(object("Lease", { spec: { renewTime: "2024-01-01T00:00:00Z" } })),
      unreadable(
        "Lease",
        'parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'
      )
    ]
  ]),
  allRefused("metadata of another type", 400, "BadRequest", [
    [
      posted({ ...configMap("x"), metadata: "x" }),
      wrongType("string", "ConfigMap.metadata", "v1.ObjectMeta", "ConfigMap")
    ],
    [
      posted({ ...configMap("x"), metadata: { name: 5 } }),
      wrongType("number", "ObjectMeta.metadata.name", "string", "ConfigMap")
    ],
    [
      posted({ ...configMap("x"), metadata: { name: "x", labels: { a: 1 } } }),
      wrongType("number", "ObjectMeta.metadata.labels", "string", "ConfigMap")
    ],
    [
      posted({ ...configMap("x"), metadata: { name: "x", finalizers: "a" } }),
      wrongType("string", "ObjectMeta.metadata.finalizers", "[]string", "ConfigMap")
    ],
    [
      posted({ ...configMap("x"), metadata: { name: "x", creationTimestamp: "x" } }),
      unreadable("ConfigMap", 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"')
    ]
  ]),
  allRefused(
    "patches and replacements that leave a wrong type",
    422,
    "Invalid",
    [
      [
        patched("Deployment", "merge", { spec: { replicas: "3" } }),
        /^ "" is invalid: patch: Invalid value: "\{.*\}": json: cannot unmarshal string into Go struct field DeploymentSpec\.spec\.replicas of type int32$/
      ],
      [
        patched("Deployment", "jsonPatch", [{ op: "replace", path: "/spec/replicas", value: "3" }]),
        /^ "" is invalid: patch: Invalid value: "\{.*\}": json: cannot unmarshal string into Go struct field DeploymentSpec\.spec\.replicas of type int32$/
      ],
      [
        patched("Deployment", "jsonPatch", [{ op: "remove", path: "/spec/template/spec/containers" }]),
        'Deployment.apps "x" is invalid: spec.template.spec.containers: Required value'
      ]
    ],
    [deployment()]
  ),
  allRefused(
    "a replacement of a wrong type, and YAML whose values are none",
    400,
    "BadRequest",
    [
      [
        patched("Deployment", "put", deployment({ replicas: "3" })),
        wrongType("string", "DeploymentSpec.spec.replicas", "int32")
      ],
      [
        yaml("ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: z\ndata:\n  a: yes\n"),
        wrongType("bool", "ConfigMap.data", "string", "ConfigMap")
      ],
      [
        yaml("ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: z\ndata:\n  a: 1\n"),
        wrongType("number", "ConfigMap.data", "string", "ConfigMap")
      ]
    ],
    [deployment()]
  )
]

const unknownFields: ReadonlyArray<ConformanceCase> = [
  {
    name: "built-in kinds: unknown fields are dropped, with a warning unless nobody wants it",
    run: async (context) => {
      const { admin, namespace } = context
      const warnings = ['unknown field "spec.foo"']
      const attempt = (mode: string) =>
        admin.post(`${collectionOf("Deployment", namespace)}?dryRun=All${mode}`, deployment({ foo: 1 }))
      for (const [mode, expected] of [
        ["", warnings],
        ["&fieldValidation=Warn", warnings],
        ["&fieldValidation=Ignore", []]
      ] as const) {
        const answer = await attempt(mode)
        expect(answer.code).toBe(201)
        expect(at(answer.body, "spec", "foo")).toBeUndefined()
        expect(warningsOf(answer).toSorted()).toEqual(expected)
      }
      expectStatus(
        await attempt("&fieldValidation=Strict"),
        400,
        "BadRequest",
        /^Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: /
      )
    }
  },
  {
    name: "built-in kinds: unknown fields in items, in metadata and in patches",
    run: async (context) => {
      const body = deployment({}, { volumes: [{ name: "v", emptyDir: {}, what: 1 }] }, { oops: { a: 1 } })
      const created = await post(context, { ...body, metadata: { name: "x", odd: 1 } })
      expect(warningsOf(created)).toEqual(
        ["metadata.odd", "spec.template.spec.containers[0].oops", "spec.template.spec.volumes[0].what"].map(
          (path) => `unknown field "${path}"`
        )
      )
      for (const how of ["merge", "strategic"] as const) {
        const answer = await patched("Deployment", how, { spec: { foo: 1 } })(context)
        expect([answer.code, at(answer.body, "spec", "foo"), warningsOf(answer)]).toEqual([
          200,
          undefined,
          ['unknown field "spec.foo"']
        ])
      }
    }
  },
  allRefused(
    "unknown fields where validation is strict",
    422,
    "Invalid",
    [
      [
        patched("Deployment", "merge", { spec: { foo: 1, bar: 1 } }, "?fieldValidation=Strict"),
        /^ "" is invalid: patch: Invalid value: "\{.*\}": strict decoding error: unknown field "spec.bar", unknown field "spec.foo"$/
      ],
      [
        patched("Deployment", "jsonPatch", [{ op: "add", path: "/spec/foo", value: 1 }], "?fieldValidation=Strict"),
        /": strict decoding error: unknown field "spec.foo"$/
      ]
    ],
    [deployment()]
  ),
  allRefused(
    "unknown fields in strict replacements",
    400,
    "BadRequest",
    [
      [
        patched("Deployment", "put", deployment({ foo: 1, bar: 2 }), "?fieldValidation=Strict"),
        unreadable("Deployment", 'strict decoding error: unknown field "spec.foo", unknown field "spec.bar"')
      ]
    ],
    [deployment()]
  ),
  {
    name: "custom resources: metadata of another type, and unknown fields in it",
    run: async (context) => {
      const { group, path } = await withWidgets(context)
      const attempt = (metadata: unknown, query = "") =>
        context.admin.post(`${path}${query}`, { ...widget(group, "w", { size: 1 }), metadata })
      const prefix = 'Widget in version "v1" cannot be handled as a Widget: '
      expectStatus(
        await attempt({ name: "w", labels: { a: 1 } }),
        400,
        "BadRequest",
        `${prefix}json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`
      )
      expectStatus(
        await attempt("w"),
        400,
        "BadRequest",
        `${prefix}json: cannot unmarshal string into Go value of type v1.ObjectMeta`
      )
      expectStatus(
        await attempt({ name: "w", foo: 1 }, "?fieldValidation=Strict"),
        400,
        "BadRequest",
        `${prefix}strict decoding error: unknown field "metadata.foo"`
      )
      expect(warningsOf(await attempt({ name: "w", foo: 1 }))).toEqual(['unknown field "metadata.foo"'])
      expectStatus(
        await context.admin.merge(`${path}/w?fieldValidation=Strict`, { spec: { foo: 1 } }),
        422,
        "Invalid",
        /^ "" is invalid: patch: Invalid value: "\{.*\}": strict decoding error: unknown field "spec.foo"$/
      )
    }
  }
]

const workloads = [
  invalid("selectors of workloads", [
    [deployment({ selector: undefined }), `[spec.selector: Required value, ${mismatch}]`],
    [deployment({ selector: {} }), "spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
    [deployment({ selector: { matchLabels: { app: "b" } } }), mismatch],
    [
      object("Deployment", {}),
      "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: null: `selector` does not " +
        "match template `labels`, spec.template.spec.containers: Required value]"
    ],
    [
      deployment({ selector: { matchExpressions: [{ key: "app", operator: "Odd" }] } }),
      '[spec.selector.matchExpressions[0].operator: Invalid value: "Odd": not a valid selector operator, ' +
        'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"Odd"}]}: invalid label ' +
        "selector]"
    ],
    [object("StatefulSet", { spec: { selector: { matchLabels: { app: "b" } }, ...template() } }), mismatch],
    [object("DaemonSet", { spec: { selector: { matchLabels: { app: "b" } }, ...template() } }), mismatch]
  ]),
  invalid("numbers and policies of Deployments", [
    [deployment({ replicas: -1 }), `spec.replicas: Invalid value: -1: ${negative}`],
    [
      deployment({}, { restartPolicy: "Never" }),
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'
    ]
  ]),
  invalid("Jobs", [
    [job({ ...template() }), 'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    [job({ backoffLimit: -1 }), `spec.backoffLimit: Invalid value: -1: ${negative}`],
    [
      job({ completionMode: "Odd" }),
      'spec.completionMode: Unsupported value: "Odd": supported values: "NonIndexed", "Indexed"'
    ],
    [job({ selector: { matchLabels: { a: "b" } } }), /spec\.selector: Invalid value: .*: `selector` not auto-generated/]
  ]),
  allRefused(
    "what cannot be changed in workloads",
    422,
    "Invalid",
    [
      [
        patched("Deployment", "merge", {
          spec: { selector: { matchLabels: { b: "c" } }, template: { metadata: { labels: { b: "c" } } } }
        }),
        'Deployment.apps "x" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"a","b":"c"}}: ' +
          "field is immutable"
      ],
      [
        patched("DaemonSet", "merge", {
          spec: { selector: { matchLabels: { b: "c" } }, template: { metadata: { labels: { b: "c" } } } }
        }),
        'DaemonSet.apps "x" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"a","b":"c"}}: field ' +
          "is immutable"
      ],
      [
        patched("Job", "merge", { spec: { template: { spec: { containers: [{ name: "c", image: "j" }] } } } }),
        /^Job\.batch "x" is invalid: spec\.template: Invalid value: .*: field is immutable$/
      ],
      [
        patched("Job", "merge", { spec: { completions: 5 } }),
        'Job.batch "x" is invalid: spec.completions: Invalid value: 5: field is immutable'
      ],
      [
        patched("Job", "put", job()),
        /^Job\.batch "x" is invalid: \[spec\.selector: Required value, .*spec\.selector: Invalid value: null: field is immutable, spec\.template: /
      ],
      [
        patched("Pod", "strategic", { spec: { containers: [{ name: "c", env: [{ name: "A", value: "b" }] }] } }),
        /^Pod "x" is invalid: spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`/
      ],
      [
        patched("Pod", "strategic", { spec: { containers: [{ name: "d", image: "i" }] } }),
        'Pod "x" is invalid: spec.containers: Forbidden: pod updates may not add or remove containers'
      ]
    ],
    [
      deployment(),
      object("DaemonSet", { spec: { ...selector, ...template() } }),
      job(),
      object("Pod", { spec: { containers: [{ name: "c", image: "i" }] } })
    ]
  ),
  {
    name: "built-in kinds: the image of a pod and the parallelism of a Job can be changed",
    run: async (context: Context) => {
      await post(context, object("Pod", { spec: { containers: [{ name: "c", image: "i" }] } }))
      await post(context, job())
      expect(
        (await patched("Pod", "strategic", { spec: { containers: [{ name: "c", image: "j" }] } })(context)).code
      ).toBe(200)
      expect((await patched("Job", "merge", { spec: { parallelism: 2 } })(context)).code).toBe(200)
    }
  }
]

const pods = [
  invalidPods("containers", [
    [{ containers: [] }, {}, "containers: Required value"],
    [
      { containers: [null] },
      {},
      /^Deployment\.apps "x" is invalid: \[spec\.template\.spec\.containers\[0\]\.name: Required value, spec\.template\.spec\.containers\[0\]\.image: Required value\]$/
    ],
    [{}, { name: "A_b" }, `containers[0].name: Invalid value: "A_b": ${dns}`],
    [
      {},
      { name: "a".repeat(64) },
      `containers[0].name: Invalid value: "${"a".repeat(64)}": must be no more than 63 characters`
    ],
    [{ initContainers: [{ name: "c", image: "i" }] }, {}, 'initContainers[0].name: Duplicate value: "c"'],
    [
      {},
      { imagePullPolicy: "Sometimes" },
      'containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", ' +
        '"IfNotPresent", "Never"'
    ],
    [
      { serviceAccountName: "A_b" },
      {},
      /spec\.template\.spec\.serviceAccountName: Invalid value: "A_b": a lowercase RFC 1123 subdomain/
    ]
  ]),
  invalidPods("environment", [
    [{}, { env: [{ value: "x" }] }, "containers[0].env[0].name: Required value"],
    [
      {},
      { env: [{ name: "a=b" }] },
      'containers[0].env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of ' +
        "printable ASCII characters other than '='"
    ],
    [
      {},
      { env: [{ name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] },
      'containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'
    ],
    [
      {},
      { env: [{ name: "A", valueFrom: {} }] },
      /containers\[0\]\.env\[0\]\.valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`(,| or) `secretKeyRef`/
    ],
    [
      {},
      { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.nope" } } }] },
      'containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.nope": error converting ' +
        "fieldPath: field label not supported: metadata.nope"
    ],
    [
      {},
      { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s" } } }] },
      "containers[0].env[0].valueFrom.secretKeyRef.key: Required value"
    ]
  ]),
  invalidPods("ports and probes", [
    [{}, { ports: [{ name: "a" }] }, "containers[0].ports[0].containerPort: Required value"],
    [
      {},
      { ports: [{ containerPort: 70_000 }] },
      `containers[0].ports[0].containerPort: Invalid value: 70000: ${portRange}`
    ],
    [
      {},
      {
        ports: [
          { containerPort: 80, name: "a" },
          { containerPort: 81, name: "a" }
        ]
      },
      'containers[0].ports[1].name: Duplicate value: "a"'
    ],
    [
      {},
      { ports: [{ containerPort: 80, protocol: "HTTP" }] },
      'containers[0].ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"'
    ],
    [{}, { livenessProbe: {} }, "containers[0].livenessProbe: Required value: must specify a handler type"],
    [
      {},
      { livenessProbe: { ...httpGet, tcpSocket: { port: 80 } } },
      "containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"
    ],
    [
      {},
      { livenessProbe: { httpGet: { path: "/" } } },
      `containers[0].livenessProbe.httpGet.port: Invalid value: 0: ${portRange}`
    ],
    [
      {},
      { livenessProbe: { ...httpGet, periodSeconds: -1 } },
      `containers[0].livenessProbe.periodSeconds: Invalid value: -1: ${negative}`
    ]
  ]),
  invalidPods("volumes and their mounts", [
    [{}, { volumeMounts: [{ name: "v", mountPath: "/x" }] }, 'containers[0].volumeMounts[0].name: Not found: "v"'],
    [secretVolume, { volumeMounts: [{ name: "v" }] }, "containers[0].volumeMounts[0].mountPath: Required value"],
    [
      secretVolume,
      { volumeMounts: ["/x", "/x"].map((mountPath) => ({ name: "v", mountPath })) },
      'containers[0].volumeMounts[1].mountPath: Invalid value: "/x": must be unique'
    ],
    [{ volumes: [{ name: "v" }, { name: "v" }] }, {}, 'volumes[1].name: Duplicate value: "v"'],
    [
      { volumes: [{ name: "v", emptyDir: {}, configMap: { name: "c" } }] },
      {},
      "volumes[0].configMap: Forbidden: may not specify more than 1 volume type"
    ],
    [{ volumes: [{ name: "v", secret: {} }] }, {}, "volumes[0].secret.secretName: Required value"]
  ]),
  invalidPods("resources", [
    [
      {},
      { resources: { limits: { cpu: "1" }, requests: { cpu: "1500m" } } },
      'containers[0].resources.requests: Invalid value: "1500m": must be less than or equal to cpu limit of 1'
    ]
  ])
]

const others = [
  invalid("leases and events", [
    [
      object("Lease", { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } }),
      "[spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, spec.leaseTransitions: Invalid " +
        `value: -1: ${negative}]`
    ],
    [
      object("Event", { involvedObject: { kind: "Pod", namespace: "other", name: "p" } }),
      'involvedObject.namespace: Invalid value: "other": does not match event.namespace'
    ]
  ]),
  invalid("Secrets and ConfigMaps", [
    [object("Secret", { type: "kubernetes.io/tls" }), "[data[tls.crt]: Required value, data[tls.key]: Required value]"],
    [object("Secret", { type: "kubernetes.io/dockerconfigjson" }), "data[.dockerconfigjson]: Required value"],
    [
      object("Secret", { stringData: { a: "x".repeat(1_100_000) } }),
      "data: Too long: may not be more than 1048576 bytes"
    ],
    [object("ConfigMap", { data: { a: "x".repeat(1_100_000) } }), "[]: Too long: may not be more than 1048576 bytes"],
    [object("ConfigMap", { data: { "..": "x" } }), "data[..]: Invalid value: \"..\": must not be '..'"],
    [
      { ...configMap("x"), metadata: { name: "x", annotations: { a: "x".repeat(300_000) } } },
      "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]
  ]),
  allRefused(
    "what cannot be changed in Secrets",
    422,
    "Invalid",
    [
      [
        patched("Secret", "merge", { type: "other" }),
        'Secret "x" is invalid: type: Invalid value: "other": field is immutable'
      ]
    ],
    [object("Secret", { stringData: { a: "b" } })]
  )
]

/** The server's answer to a creation, without the fields that differ in each answer. */
const created = async (context: Context, body: JsonObject): Promise<JsonObject> => {
  const answer = await post(context, body, "?dryRun=All")
  expect(answer.code, answer.text).toBe(201)
  const { apiVersion: _, kind: __, metadata, ...rest } = answer.body
  const own = omit(
    asObject(metadata),
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "managedFields",
    "namespace",
    "name"
  )
  return { ...rest, metadata: own }
}

const becomes = (name: string, objects: ReadonlyArray<readonly [JsonObject, JsonObject]>): ConformanceCase => ({
  name: `built-in kinds: defaults of ${name}`,
  run: async (context) => {
    for (const [body, expected] of objects) expect(await created(context, body)).toEqual(expected)
  }
})

const container = {
  name: "c",
  image: "i",
  imagePullPolicy: "Always",
  resources: {},
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File"
}
const podSpec = (pod: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  containers: [{ ...container, ...more }],
  dnsPolicy: "ClusterFirst",
  restartPolicy: "Always",
  schedulerName: "default-scheduler",
  securityContext: {},
  terminationGracePeriodSeconds: 30,
  ...pod
})
const labelled = (spec: JsonObject): JsonObject => ({ metadata: { labels: { app: "a" } }, spec })
const deployed = (template: JsonObject, spec: JsonObject = {}): JsonObject => ({
  metadata: { generation: 1 },
  spec: {
    ...selector,
    template: labelled(template),
    replicas: 1,
    progressDeadlineSeconds: 600,
    revisionHistoryLimit: 10,
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
    ...spec
  },
  status: {}
})
const probed = { failureThreshold: 3, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1 }
const nameRef = { fieldRef: { fieldPath: "metadata.name" } }
const versionedNameRef = { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } }
const rolling = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: 1 } }

const defaulted: ReadonlyArray<ConformanceCase> = [
  becomes("Deployments", [
    [deployment(), deployed(podSpec())],
    [
      deployment({ strategy: { type: "Recreate" }, replicas: 0 }),
      deployed(podSpec(), { strategy: { type: "Recreate" }, replicas: 0 })
    ],
    [deployment({ strategy: { rollingUpdate: { maxSurge: 1 } } }), deployed(podSpec(), { strategy: rolling })],
    [
      deployment({}, { serviceAccountName: "s" }, { image: "a/b:1" }),
      deployed(
        podSpec({ serviceAccount: "s", serviceAccountName: "s" }, { image: "a/b:1", imagePullPolicy: "IfNotPresent" })
      )
    ]
  ]),
  becomes("probes, environment and resources", [
    [
      deployment(
        {},
        {},
        { livenessProbe: { httpGet: { port: 80 } }, startupProbe: { exec: { command: ["x"] }, periodSeconds: 3 } }
      ),
      deployed(
        podSpec(
          {},
          {
            livenessProbe: { ...probed, httpGet: { path: "/", port: 80, scheme: "HTTP" } },
            startupProbe: { ...probed, exec: { command: ["x"] }, periodSeconds: 3 }
          }
        )
      )
    ],
    [
      deployment(
        {},
        {},
        {
          env: [
            { name: "A", valueFrom: nameRef },
            { name: "B", value: "" }
          ]
        }
      ),
      deployed(podSpec({}, { env: [{ name: "A", valueFrom: versionedNameRef }, { name: "B" }] }))
    ],
    [
      deployment(
        {},
        {},
        {
          ports: [{ containerPort: 80 }],
          resources: { limits: { cpu: 1, memory: "1024Mi" }, requests: { cpu: "1000m", memory: 1_000_000 } }
        }
      ),
      deployed(
        podSpec(
          {},
          {
            ports: [{ containerPort: 80, protocol: "TCP" }],
            resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1", memory: "1M" } }
          }
        )
      )
    ]
  ]),
  becomes("volumes", [
    [
      deployment(
        {},
        {
          volumes: [
            { name: "a", secret: { secretName: "s" } },
            { name: "b", configMap: { name: "c" } },
            {
              name: "c",
              projected: {
                sources: [
                  { serviceAccountToken: { path: "token" } },
                  { downwardAPI: { items: [{ path: "n", ...nameRef }] } }
                ]
              }
            },
            { name: "d", downwardAPI: { items: [{ path: "n", ...nameRef }] } },
            { name: "e" }
          ]
        }
      ),
      deployed(
        podSpec({
          volumes: [
            { name: "a", secret: { secretName: "s", defaultMode: 420 } },
            { name: "b", configMap: { name: "c", defaultMode: 420 } },
            {
              name: "c",
              projected: {
                defaultMode: 420,
                sources: [
                  { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
                  { downwardAPI: { items: [{ path: "n", ...versionedNameRef }] } }
                ]
              }
            },
            { name: "d", downwardAPI: { defaultMode: 420, items: [{ path: "n", ...versionedNameRef }] } },
            { name: "e", emptyDir: {} }
          ]
        })
      )
    ]
  ]),
  becomes("StatefulSets, DaemonSets and CronJobs", [
    [
      object("StatefulSet", { spec: { ...selector, ...template(), serviceName: "s" } }),
      {
        metadata: { generation: 1 },
        spec: {
          ...selector,
          template: labelled(podSpec()),
          replicas: 1,
          serviceName: "s",
          revisionHistoryLimit: 10,
          podManagementPolicy: "OrderedReady",
          persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
          updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } }
        },
        status: { replicas: 0, availableReplicas: 0 }
      }
    ],
    [
      object("DaemonSet", { spec: { ...selector, ...template() } }),
      {
        metadata: { generation: 1, annotations: { "deprecated.daemonset.template.generation": "1" } },
        spec: {
          ...selector,
          template: labelled(podSpec()),
          revisionHistoryLimit: 10,
          updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } }
        },
        status: { currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 }
      }
    ],
    [
      object("CronJob", {
        spec: { schedule: "* * * * *", jobTemplate: { spec: template({ restartPolicy: "Never" }) } }
      }),
      {
        metadata: { generation: 1 },
        spec: {
          schedule: "* * * * *",
          concurrencyPolicy: "Allow",
          suspend: false,
          successfulJobsHistoryLimit: 3,
          failedJobsHistoryLimit: 1,
          jobTemplate: { metadata: {}, spec: { template: labelled(podSpec({ restartPolicy: "Never" })) } }
        },
        status: {}
      }
    ]
  ]),
  {
    name: "built-in kinds: defaults of Jobs, which select their own pods",
    run: async (context) => {
      const answer = await post(context, job({ parallelism: 2 }), "?dryRun=All")
      const uid = at(answer.body, "metadata", "uid")
      const own = { "batch.kubernetes.io/controller-uid": uid }
      const labels = { app: "a", ...own, "batch.kubernetes.io/job-name": "x", "controller-uid": uid, "job-name": "x" }
      expect(at(answer.body, "metadata", "labels")).toEqual(labels)
      expect(answer.body["spec"]).toEqual({
        parallelism: 2,
        backoffLimit: 6,
        completionMode: "NonIndexed",
        manualSelector: false,
        podReplacementPolicy: "TerminatingOrFailed",
        suspend: false,
        selector: { matchLabels: own },
        template: { metadata: { labels }, spec: podSpec({ restartPolicy: "Never" }) }
      })
      expect(at((await post(context, job(), "?dryRun=All")).body, "spec", "completions")).toBe(1)
    }
  },
  {
    name: "built-in kinds: defaults of pods",
    run: async (context) => {
      const limits = { cpu: "1", memory: "1Gi" }
      const { spec, status, metadata } = await created(
        context,
        object("Pod", {
          spec: { serviceAccountName: "default", containers: [{ name: "c", image: "i", resources: { limits } }] }
        })
      )
      expect(spec).toMatchObject({
        enableServiceLinks: true,
        priority: 0,
        preemptionPolicy: "PreemptLowerPriority",
        containers: [{ resources: { limits, requests: limits } }]
      })
      expect(at(spec, "tolerations")).toEqual(
        ["not-ready", "unreachable"].map((key) => ({
          key: `node.kubernetes.io/${key}`,
          operator: "Exists",
          effect: "NoExecute",
          tolerationSeconds: 300
        }))
      )
      expect(status).toEqual({ phase: "Pending", qosClass: "Guaranteed" })
      expect(metadata).toEqual({ generation: 1 })
    }
  },
  becomes("Secrets and Leases", [
    [object("Secret", { stringData: { a: "b" } }), { metadata: {}, type: "Opaque", data: { a: "Yg==" } }],
    [object("Lease", {}), { metadata: {}, spec: {} }]
  ]),
  becomes("what is empty: it is left out, and null is the empty text", [
    [
      {
        ...object("ConfigMap", { data: {}, immutable: false }),
        metadata: { name: "x", labels: {}, annotations: {}, finalizers: [] }
      },
      { metadata: {}, immutable: false }
    ],
    [
      object("ConfigMap", { data: { a: null }, binaryData: { b: null } }),
      { metadata: {}, data: { a: "" }, binaryData: { b: "" } }
    ],
    [
      deployment(
        { paused: false, minReadySeconds: 0 },
        { nodeSelector: {}, hostNetwork: false, tolerations: [], nodeName: "", automountServiceAccountToken: false },
        { command: [], ports: [] }
      ),
      deployed(podSpec({ automountServiceAccountToken: false }))
    ]
  ])
]

export const builtInKindsCases: ReadonlyArray<ConformanceCase> = [
  {
    name: "built-in kinds: a workload has its number of pods as an object of its own",
    run: async (context) => {
      expect((await post(context, deployment({ replicas: 0 }))).code).toBe(201)
      const path = `${collectionOf("Deployment", context.namespace)}/x/scale`
      const scale = async (answer: Promise<Answer>) => {
        const { code, body } = await answer
        const { uid: _, resourceVersion: __, creationTimestamp: ___, ...metadata } = asObject(at(body, "metadata"))
        return [
          code,
          at(body, "kind"),
          at(body, "apiVersion"),
          metadata,
          at(body, "spec"),
          at(body, "status", "selector")
        ]
      }
      const of = (spec: JsonObject) => [
        200,
        "Scale",
        "autoscaling/v1",
        { name: "x", namespace: context.namespace },
        spec,
        "app=a"
      ]
      expect(await scale(context.admin.get(path))).toEqual(of({}))
      expect(await scale(context.admin.merge(path, { spec: { replicas: 2 } }))).toEqual(of({ replicas: 2 }))
      const whole = { kind: "Scale", apiVersion: "autoscaling/v1", metadata: { name: "x" }, spec: { replicas: 1 } }
      expect(await scale(context.admin.put(path, whole))).toEqual(of({ replicas: 1 }))
      expect(at((await context.admin.get(path.replace(/\/scale$/u, ""))).body, "spec", "replicas")).toBe(1)
      expectStatus(
        await context.admin.merge(path, { spec: { replicas: -1 } }),
        422,
        "Invalid",
        /spec\.replicas: Invalid value: -1: (?:must|should) be greater than or equal to 0/u
      )
      expectStatus(await context.admin.get(path.replace("/x/", "/none/")), 404, "NotFound", /"none" not found/u)
    }
  },
  ...ofWrongType,
  ...unknownFields,
  ...workloads,
  ...pods,
  ...others,
  ...defaulted
]

import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { programsOf } from "../../../src/adapters/engines/programs.ts"
import { branchPodName } from "../../../src/domain/branches/branch-name.ts"
import { branchPod } from "../../../src/domain/branches/branch-pod.ts"
import { readBranchRequest } from "../../../src/domain/branches/branch-request.ts"
import { postgresql } from "../../../src/domain/branches/dialects/postgresql.ts"
import { asObjects, at, type JsonObject } from "../../../src/domain/json.ts"
import type { BranchDatabaseSpec } from "../../../src/domain/resources/branches/branch-database.ts"
import { isObjectName } from "../../../src/domain/targets/target-path.ts"
import { bareBranchSpec } from "../../support/branch-spec.ts"

const env = (variable: string, container: string | null = null) => ({ env: { container, variable } })
const settings = {
  imagePullSecrets: ["pull"],
  labels: { a: "b" },
  annotations: {},
  dataLimit: "1Gi",
  stagingLimit: "1Mi"
}
const containers = [
  {
    name: "app",
    env: [
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } },
      { name: "URL", value: "postgres://u:$(PASSWORD)@$(HOST)/shop?x=$$(PASSWORD)" },
      { name: "OTHER", value: "1" }
    ],
    envFrom: [{ prefix: "P_", configMapRef: { name: "more" } }]
  },
  { name: "other", env: [{ name: "HOST", value: "there" }] }
]

const podOf = (
  change: Partial<BranchDatabaseSpec>,
  template: JsonObject = { spec: { containers } },
  more: object = {},
  ownerName = "mirrord-pg-branch-1"
) => {
  const spec: BranchDatabaseSpec = {
    ...bareBranchSpec,
    connectionSource: { url: env("URL") },
    postgresOptions: { copy: { mode: "all" } },
    ...change
  }
  const request = Result.getOrThrow(readBranchRequest(spec))
  const owner = { apiVersion: "v1", kind: "BranchDatabase", name: ownerName, uid: "u" }
  const { container } = spec.target
  return branchPod(
    { ...settings, ...more },
    {
      name: "branch-1",
      namespace: "shop",
      owner,
      request,
      programs: programsOf(request.dialect),
      digest: "d",
      template,
      container: container || undefined
    }
  )
}
const copyOf = (pod: object): JsonObject => asObjects(at(pod, "spec", "initContainers"))[0] ?? {}
const copyEnv = (change: Partial<BranchDatabaseSpec>) => asObjects(copyOf(Result.getOrThrow(podOf(change)))["env"])

describe("the pod of a branch", () => {
  it("may do nothing but run its engine as a usual user", () => {
    const pod = Result.getOrThrow(podOf({ version: "16" }))
    expect(at(pod, "spec")).toMatchObject({
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 999, seccompProfile: { type: "RuntimeDefault" } },
      imagePullSecrets: [{ name: "pull" }]
    })
    for (const container of [copyOf(pod), ...asObjects(at(pod, "spec", "containers"))]) {
      expect(container["image"]).toBe("docker.io/library/postgres:16")
      expect(container["securityContext"]).toEqual({ allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } })
    }
    expect(at(pod, "metadata", "labels", "db-owner-name")).toBe("mirrord-pg-branch-1")
  })

  it("names no user where the cluster chooses it", () => {
    expect(
      at(Result.getOrThrow(podOf({}, { spec: { containers } }, { leavesUsersOut: true })), "spec", "securityContext")
    ).toEqual({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } })
  })

  it("is ready by its server alone, which has started once it answers, and may use so much and no more", () => {
    const pod = Result.getOrThrow(podOf({}))
    const [server, ...others] = asObjects(at(pod, "spec", "containers"))
    expect(others).toEqual([])
    expect(server).toMatchObject({
      ports: [{ name: "database", containerPort: 5432 }],
      startupProbe: { exec: { command: ["sh", "-c", programsOf(postgresql).started] }, failureThreshold: 1800 },
      readinessProbe: { tcpSocket: { port: 5432 } }
    })
    const mysql = Result.getOrThrow(podOf({ postgresOptions: null, mysqlOptions: {} }))
    expect(asObjects(at(mysql, "spec", "containers"))[0]).not.toHaveProperty("startupProbe")
    // The server that the copy is made with is one of an init container: nothing probes it.
    for (const container of asObjects(at(pod, "spec", "initContainers")))
      for (const probe of ["readinessProbe", "startupProbe"]) expect(container).not.toHaveProperty(probe)
    expect(at(pod, "spec", "volumes")).toEqual([
      { name: "data", emptyDir: { sizeLimit: "1Gi" } },
      { name: "staging", emptyDir: { sizeLimit: "1Mi" } }
    ])
    for (const container of [copyOf(pod), server])
      expect(at(container, "resources", "limits")).toEqual({ cpu: "1", memory: "2Gi" })
  })

  it("has a name and labels that the API server takes, whatever the branch is called", () => {
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,4}[a-z0-9])?$/)
    const names = fc.array(label, { minLength: 1, maxLength: 70, size: "max" }).map((labels) =>
      labels
        .join(".")
        .slice(0, 253)
        .replace(/[-.]+$/u, "")
    )
    const uid = "00000000-0000-4000-8000-00000000000f"
    fc.assert(
      fc.property(names, (owner) => {
        const name = branchPodName({ name: owner, uid })
        expect(isObjectName(`${name}-staging`)).toBe(true)
        expect(name.endsWith("-0000000f")).toBe(true)
        const pod = Result.getOrThrow(podOf({}, { spec: { containers } }, {}, owner))
        expect(at(pod, "metadata", "labels", "db-owner-name")).toMatch(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/u)
      })
    )
  })

  it("is where the administrators want it, with their volumes and their arguments of the server", () => {
    const placement = { nodeSelector: { disk: "fast" }, tolerations: [{ operator: "Exists" }] }
    const more = { placement, serverArguments: ["-c", "a=1"], dataVolume: { ephemeral: { a: 1 } } }
    const pod = Result.getOrThrow(podOf({}, { spec: { containers } }, more))
    expect(at(pod, "spec")).toMatchObject({
      ...placement,
      volumes: [
        { name: "data", ephemeral: { a: 1 } },
        { name: "staging", emptyDir: { sizeLimit: "1Mi" } }
      ]
    })
    expect(asObjects(at(pod, "spec", "containers"))[0]?.["args"]).toEqual(["server", "-c", "a=1"])
    expect(copyOf(pod)).not.toHaveProperty("args")
    expect(Result.getOrThrow(podOf({}))).not.toHaveProperty("spec.nodeSelector")
  })

  it("names the credentials of the source, also those that a value refers to, under names of their own", () => {
    expect(copyEnv({}).slice(0, 3)).toEqual([
      { name: "TARGET_PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } },
      { name: "TARGET_URL", value: "postgres://u:$(TARGET_PASSWORD)@$(TARGET_HOST)/shop?x=$$(PASSWORD)" },
      { name: "SOURCE_URL", value: "$(TARGET_URL)" }
    ])
    const maps = copyOf(Result.getOrThrow(podOf({})))["envFrom"]
    expect(maps).toEqual([{ prefix: "TARGET_P_", configMapRef: { name: "more" } }])
  })

  it("is refused where a variable comes from a file of the target's pod, also one that the value refers to", () => {
    const valueFrom = { fileKeyRef: { volumeName: "made", path: "app.env", key: "PASSWORD" } }
    const app = {
      name: "app",
      env: [
        { name: "PASSWORD", valueFrom },
        { name: "URL", value: "postgres://u:$(PASSWORD)@db/shop" }
      ]
    }
    expect(Result.getOrThrow(Result.flip(podOf({}, { spec: { containers: [app] } })))).toBe(
      'The variable PASSWORD of the target\'s container "app" comes from a file of its pod (fileKeyRef), which the ' +
        "branch's pod has not: name a variable with a value, or one from a Secret or a ConfigMap."
    )
  })

  it("has a variable of several containers from the one that the target names", () => {
    const container = (name: string) => ({ name, env: [{ name: "URL", value: `postgresql://${name}` }] })
    const template = { spec: { containers: [container("app"), container("other"), { name: "bare" }] } }
    const urlOf = (named: string) =>
      asObjects(
        copyOf(
          Result.getOrThrow(
            podOf({ target: { apiVersion: "apps/v1", kind: "Deployment", name: "app", container: named } }, template)
          )
        )["env"]
      )[0]?.["value"]
    expect(["", "app", "other", "bare"].map(urlOf)).toEqual([
      "postgresql://app",
      "postgresql://app",
      "postgresql://other",
      "postgresql://app"
    ])
  })

  it("looks for a variable in the named container, else in one that declares it", () => {
    const source = (container: string | null) => ({ connectionSource: { params: { host: env("HOST", container) } } })
    expect(copyEnv(source(null))[0]).toEqual({ name: "TARGET_HOST", value: "there" })
    expect(copyEnv(source("app"))[0]).toEqual({ name: "SOURCE_HOST", value: "$(TARGET_HOST)" })
    expect(Result.getFailure(podOf(source("none")))).toMatchObject({
      value:
        'The target has no container "none", in which the variable HOST would be: name a container of its pod ' +
        "template."
    })
  })

  it("is refused where the target declares no such variable, unless it begins empty", () => {
    const template = { spec: { containers: [{ name: "app" }] } }
    expect(Result.getFailure(podOf({}, template))).toMatchObject({
      value: 'The variable URL is not in the target\'s container "app": name a variable that its pod template declares.'
    })
    expect(Result.isSuccess(podOf({ postgresOptions: {} }, template))).toBe(true)
  })

  it("reads no part of a variable by a pattern", () => {
    const url = { envPattern: { container: null, variable: "URL", value_pattern: "(.*)" } }
    const copy = copyEnv({ connectionSource: { url }, postgresOptions: {}, databaseName: "shop" })
    expect(copy.filter(({ name }) => String(name).startsWith("SOURCE_"))).toEqual([])
  })

  it("does not go round in circles with variables that refer to each other", () => {
    const circle = [
      { name: "URL", value: "$(B)" },
      { name: "B", value: "$(URL)" }
    ]
    expect(Result.isSuccess(podOf({}, { spec: { containers: [{ name: "app", env: circle }] } }))).toBe(true)
  })

  it("has text of users in values alone, which the kubelet leaves as they are", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("$", "(", ")", "A", "'", " ") }), (inner) => {
        const filter = `note = '${inner.replaceAll("'", "")}' and id = 1`
        const options = { copy: { mode: "schema", items: { users: { filter } } } } as const
        const entry = copyEnv({ postgresOptions: options }).find(({ name }) => name === "COPY_FILTER_0")
        const value = String(entry?.["value"])
        expect(value.replaceAll("$$", "")).not.toContain("$")
        expect(value.replaceAll("$$", "$")).toBe(filter)
        expect(copyOf(Result.getOrThrow(podOf({ postgresOptions: options })))["command"]).toEqual(
          copyOf(Result.getOrThrow(podOf({})))["command"]
        )
      })
    )
  })

  it("gives the session in the source its settings, with blanks kept", () => {
    const connectionSettings = { "app.x": "a b\\c", search_path: "sales" }
    const found = copyEnv({ postgresOptions: { copy: { mode: "all" }, connectionSettings } })
    expect(found).toContainEqual({ name: "SOURCE_OPTIONS", value: "-c app.x=a\\ b\\\\c -c search_path=sales" })
  })
})

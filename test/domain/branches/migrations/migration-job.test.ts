import { execFileSync } from "node:child_process"
import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { migrateProgram } from "../../../../src/adapters/engines/programs.ts"
import type { BranchPodSettings } from "../../../../src/domain/branches/branch-pod.ts"
import { readBranchRequest } from "../../../../src/domain/branches/branch-request.ts"
import {
  migrationFiles,
  migrationJob,
  type MigrationSettings
} from "../../../../src/domain/branches/migrations/migration-job.ts"
import { asObject, asObjects, asString, asStrings, at, type JsonObject } from "../../../../src/domain/json.ts"
import type { BranchDatabaseSpec } from "../../../../src/domain/resources/branches/branch-database.ts"
import { bareBranchSpec } from "../../../support/branch-spec.ts"

const variable = (name: string) => ({ env: { container: null, variable: name } })
const bare: BranchDatabaseSpec = {
  ...bareBranchSpec,
  connectionSource: { url: variable("DATABASE_URL") },
  databaseName: "shop $1",
  postgresOptions: {}
}
const pod = {
  imagePullSecrets: ["own"],
  labels: { team: "db" },
  annotations: {},
  dataLimit: "1Gi",
  stagingLimit: "1Gi"
}
const usual: MigrationSettings = { repository: undefined, environment: { inherits: true, env: [], envFrom: [] } }
const source = "postgresql://app:secret@source/shop"

interface Wanted {
  readonly pods?: Partial<BranchPodSettings>
  readonly migrations: NonNullable<BranchDatabaseSpec["migrations"]>
  readonly change?: Partial<BranchDatabaseSpec>
  readonly settings?: MigrationSettings
  readonly containers?: ReadonlyArray<JsonObject>
  readonly container?: string
}

const made = ({ change = {}, container, containers, migrations, pods = {}, settings = usual }: Wanted) => {
  const request = Result.getOrThrow(readBranchRequest({ ...bare, ...change, migrations }))
  if (request.migrations === undefined) throw new Error("no migrations")
  const options = {
    request,
    migrations: request.migrations,
    program: migrateProgram,
    digest: "d",
    branch: { host: "10.0.0.7", secret: "b-1", database: request.databaseName ?? "" },
    template: {
      spec: {
        containers: containers ?? [{ name: "app", env: [{ name: "DATABASE_URL", value: source }] }],
        imagePullSecrets: [{ name: "apps" }]
      }
    },
    container,
    namespace: "shop",
    owner: { apiVersion: "v1", kind: "BranchDatabase", name: "b", uid: "u" },
    generation: 3
  }
  return { job: migrationJob({ ...pod, ...pods }, settings, options), files: migrationFiles(options) }
}
const podOf = (wanted: Wanted): JsonObject =>
  asObject(at(Result.getOrThrow(made(wanted).job), "spec", "template", "spec"))
const containerOf = (wanted: Wanted): JsonObject => asObjects(podOf(wanted)["containers"])[0] ?? {}
const refusalOf = (wanted: Wanted): string => Result.getOrThrow(Result.flip(made(wanted).job))

/** The environment as the kubelet resolves it; a Secret's value is its reference in angle brackets. */
const resolved = (container: JsonObject): Readonly<Record<string, string>> => {
  const env: Record<string, string> = {}
  for (const { name, value, valueFrom } of asObjects(container["env"])) {
    const reference = `<${Object.values(asObject(at(valueFrom, "secretKeyRef"))).join(" ")}>`
    env[asString(name) ?? ""] =
      asString(value)?.replace(/\$\$|\$\(([^)]+)\)/gu, (whole, other?: string) =>
        other === undefined ? "$" : (env[other] ?? whole)
      ) ?? reference
  }
  return env
}

const program = (more: object = {}) => ({ flavor: "container" as const, image: "registry.example.com/app:1", ...more })

describe("the Job of Flyway", () => {
  it("has the user's files of a ConfigMap, and reaches the branch alone", () => {
    const { files, job } = made({ migrations: { flavor: "flyway", archive: "aGk=" } })
    expect([Result.getOrThrow(job), files]).toMatchSnapshot()
  })

  it("names no user where the cluster chooses it", () => {
    const migrations = { flavor: "flyway" as const, archive: "aGk=" }
    const securityOf = (pods: Partial<BranchPodSettings>) => podOf({ migrations, pods })["securityContext"]
    expect(securityOf({})).toMatchObject({ runAsUser: 10_001, fsGroup: 10_001 })
    expect(securityOf({ leavesUsersOut: true })).toEqual({
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" }
    })
  })

  it("unpacks with a program that a shell can read", () => {
    const [shell = "", flag = "", script = ""] = asStrings(
      containerOf({ migrations: { flavor: "flyway", archive: "aGk=" } })["command"]
    )
    expect([shell, flag]).toEqual(["sh", "-c"])
    execFileSync("sh", ["-n", "-c", script])
  })

  it("has the administrators' repository, or the user's own image", () => {
    const settings = { ...usual, repository: "registry.example.com/flyway" }
    expect(containerOf({ migrations: { flavor: "flyway", archive: "aGk=" }, settings })["image"]).toBe(
      "registry.example.com/flyway:12"
    )
    const own = { flavor: "flyway" as const, archive: "aGk=", image: "mine:1" }
    expect(podOf({ migrations: own, settings })["imagePullSecrets"]).toEqual([{ name: "own" }, { name: "apps" }])
    expect(containerOf({ migrations: own, settings })["image"]).toBe("mine:1")
  })

  it("reads the files of its image where it has locations", () => {
    const migrations = { flavor: "flyway" as const, image: "mine:1", locations: ["filesystem:/sql", "classpath:db"] }
    const { files } = made({ migrations })
    expect(files).toBeUndefined()
    const container = containerOf({ migrations })
    expect(container).toMatchObject({ image: "mine:1", args: ["migrate"] })
    expect(container).not.toHaveProperty("command")
    expect(resolved(container)).toMatchObject({
      FLYWAY_LOCATIONS: "filesystem:/sql,classpath:db",
      FLYWAY_PASSWORD: "<b-1 password>"
    })
  })

  it.each([
    ["postgresOptions", "jdbc:postgresql://10.0.0.7:5432/shop%20%241?sslmode=disable", "postgres"],
    ["mysqlOptions", "jdbc:mysql://10.0.0.7:3306/shop $1?sslMode=DISABLED&allowPublicKeyRetrieval=true", "root"],
    ["mariadbOptions", "jdbc:mariadb://10.0.0.7:3306/shop $1", "root"]
  ])("finds a branch of %s", (block, url, user) => {
    const change = { postgresOptions: null, [block]: {} }
    const env = resolved(containerOf({ migrations: { flavor: "flyway", archive: "aGk=" }, change }))
    expect(env).toMatchObject({ FLYWAY_URL: url, FLYWAY_USER: user })
  })

  it("is not for engines without migrations", () => {
    const redis = { ...bare, postgresOptions: null, redisOptions: {}, migrations: { flavor: "flyway" as const } }
    expect(Result.getOrThrow(Result.flip(readBranchRequest({ ...redis, databaseName: "0" })))).toBe(
      "spec.migrations asks for migrations, which branches of Redis do not have; leave it out."
    )
  })
})

describe("the Job of a program", () => {
  it("is that of the user's image, with its own user", () => {
    const migrations = program({ command: ["rake"], args: ["db:migrate"] })
    expect(Result.getOrThrow(made({ migrations }).job)).toMatchSnapshot()
  })

  it("has five layers of environment, the user's strongest", () => {
    const containers = [
      {
        name: "app",
        env: [
          { name: "A", value: "target" },
          { name: "B", value: "target" },
          { name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "app", key: "url" } } },
          { name: "AFTER", value: "$(DATABASE_URL)?x" },
          { name: "MIRRORD_DB_HOST", value: "the-source" }
        ],
        envFrom: [{ configMapRef: { name: "app" } }]
      }
    ]
    const settings = {
      ...usual,
      environment: {
        inherits: true,
        env: [
          { name: "B", value: "admin" },
          { name: "DATABASE_URL", value: "admin" },
          { name: "MIRRORD_DB_NAME", value: "admin" }
        ],
        envFrom: [{ secretRef: { name: "more" } }]
      }
    }
    const migrations = program({ env: { A: "user", MIRRORD_DB_USER: "me", OWN: "$(MIRRORD_DB_NAME)/$(A)" } })
    const container = containerOf({ migrations, containers, settings })
    const url = "postgresql://postgres:<b-1 password>@10.0.0.7:5432/shop%20%241"
    expect(resolved(container)).toEqual({
      A: "user",
      B: "admin",
      DATABASE_URL: url,
      AFTER: `${url}?x`,
      MIRRORD_DB_HOST: "10.0.0.7",
      MIRRORD_DB_PORT: "5432",
      MIRRORD_DB_USER: "me",
      MIRRORD_DB_PASSWORD: "<b-1 password>",
      MIRRORD_DB_NAME: "shop $1",
      OWN: "shop $1/user"
    })
    expect(container["envFrom"]).toEqual([{ configMapRef: { name: "app" } }, { secretRef: { name: "more" } }])
    expect(JSON.stringify(container)).not.toContain("the-source")
  })

  it("has each variable of the connection lead to the branch", () => {
    const params = {
      host: [variable("HOST"), { secret: { name: "s", key: "k", env_var_name: "OTHER_HOST" } }],
      port: variable("PORT"),
      user: variable("DB_USER"),
      password: variable("PASS"),
      database: variable("DB"),
      extra: { sslmode: variable("SSL") }
    }
    const env = ["HOST", "PORT", "DB_USER", "PASS", "DB", "SSL"].map((name) => ({ name, value: "the-source" }))
    const container = containerOf({
      migrations: program(),
      change: { connectionSource: { params } },
      containers: [{ name: "app", env }]
    })
    expect(resolved(container)).toMatchObject({
      HOST: "10.0.0.7",
      OTHER_HOST: "10.0.0.7",
      PORT: "5432",
      DB_USER: "postgres",
      PASS: "<b-1 password>",
      DB: "shop $1",
      SSL: "disable"
    })
    expect(JSON.stringify(container)).not.toContain("the-source")
  })

  it("never has a variable of the connection as the target has it, whatever else the target declares", () => {
    const name = fc.constantFrom("DATABASE_URL", "A", "B", "MIRRORD_DB_HOST", "MIRRORD_DB_PASSWORD")
    const value = fc.constantFrom("source", "$(DATABASE_URL)source", "x")
    const entries = fc.array(fc.record({ name, value }), { maxLength: 8 })
    const own = fc.dictionary(fc.constantFrom("A", "B"), fc.constantFrom("$(DATABASE_URL)", "y"))
    fc.assert(
      fc.property(entries, entries, own, (env, admins, user) => {
        const environment = { inherits: true, env: admins, envFrom: [] }
        const container = containerOf({
          migrations: program({ env: user }),
          containers: [{ name: "app", env }],
          settings: { ...usual, environment }
        })
        const names = asObjects(container["env"]).map((entry) => entry["name"])
        expect(new Set(names).size).toBe(names.length)
        const { DATABASE_URL, MIRRORD_DB_HOST, MIRRORD_DB_PASSWORD } = resolved(container)
        expect(DATABASE_URL).toContain("@10.0.0.7:5432/")
        expect([MIRRORD_DB_HOST, MIRRORD_DB_PASSWORD]).toEqual(["10.0.0.7", "<b-1 password>"])
      })
    )
  })

  it("takes the environment of the named container, else of one with the variable, else of the usual one", () => {
    const containers = [
      { name: "a-sidecar", env: [{ name: "ROLE", value: "sidecar" }] },
      {
        name: "app",
        env: [
          { name: "ROLE", value: "app" },
          { name: "DATABASE_URL", value: source }
        ]
      },
      { name: "main", env: [{ name: "ROLE", value: "main" }] }
    ]
    const roleIn = (more: Partial<Wanted>) =>
      resolved(containerOf({ migrations: program(), containers, ...more }))["ROLE"]
    expect(roleIn({})).toBe("app")
    expect(roleIn({ container: "main" })).toBe("main")
    expect(roleIn({ change: { connectionSource: { url: variable("ELSEWHERE") } } })).toBe("sidecar")
    expect(refusalOf({ migrations: program(), containers, container: "no" })).toBe('The target has no container "no".')
  })

  it("is refused where the target has a variable from a file, unless that gets another value", () => {
    const LEVEL = { name: "LEVEL", valueFrom: { fileKeyRef: { volumeName: "made", path: "app.env", key: "LEVEL" } } }
    const containers = [{ name: "app", env: [{ name: "DATABASE_URL", value: source }, LEVEL] }]
    expect(refusalOf({ migrations: program(), containers })).toBe(
      "The variable LEVEL comes from a file of the target's pod (fileKeyRef), which migrations have not: set it in " +
        "spec.migrations.env, or have the administrators set migrationEnv.inherit to false."
    )
    const env = { LEVEL: "info" }
    expect(resolved(containerOf({ migrations: program({ env }), containers }))["LEVEL"]).toBe("info")
  })

  it("has the connection's variables lead to the branch, also without the target's and in texts of the target", () => {
    const change = { connectionSource: { params: { host: variable("DB_HOST"), password: variable("DB_PASSWORD") } } }
    const containers = [
      {
        name: "app",
        envFrom: [{ secretRef: { name: "db" } }],
        env: [{ name: "DATABASE_URL", value: "postgres://u:$(DB_PASSWORD)@$(DB_HOST)/shop" }]
      }
    ]
    const order = asObjects(containerOf({ migrations: program(), change, containers })["env"]).map(({ name }) => name)
    expect(order.indexOf("DB_HOST")).toBeLessThan(order.indexOf("DATABASE_URL"))
    expect(order.indexOf("DB_PASSWORD")).toBeLessThan(order.indexOf("DATABASE_URL"))
    const environment = { ...usual.environment, inherits: false, env: [{ name: "DB_HOST", value: "source" }] }
    const alone = containerOf({ migrations: program(), change, settings: { ...usual, environment } })
    expect(resolved(alone)["DB_HOST"]).not.toBe("source")
  })

  it("is refused where the target's own variables could lead it to the source", () => {
    const secret = { connectionSource: { url: { secret: { name: "s", key: "k" } } } }
    const pattern = {
      connectionSource: { url: { envPattern: { container: null, variable: "DSN", value_pattern: "(.*)" } } }
    }
    expect(refusalOf({ migrations: program(), change: secret })).toContain("takes the url from a Secret")
    expect(refusalOf({ migrations: program(), change: pattern })).toContain("a part of the variable DSN")
    const own = containerOf({ migrations: program({ env: { DSN: "mine" } }), change: pattern })
    expect(resolved(own)).toMatchObject({ DSN: "mine" })
    const settings = { ...usual, environment: { ...usual.environment, inherits: false } }
    const alone = containerOf({ migrations: program(), change: secret, settings })
    expect(Object.keys(resolved(alone)).every((name) => name.startsWith("MIRRORD_DB_"))).toBe(true)
    expect(alone["envFrom"]).toEqual([])
  })
})

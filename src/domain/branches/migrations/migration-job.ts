/**
 * The Job that runs the migrations of a branch, beside its pod, and the ConfigMap with the user's files. Both belong to
 * the branch. User text is in values alone, and passwords are only named.
 *
 * Not here: when they run (migration-plan.ts), and the environment of the user's own image (migration-environment.ts).
 */

import * as Result from "effect/Result"
import { asObjects, asString, at, type JsonObject } from "../../json.ts"
import type { OwnerReference } from "../../resources/object-meta.ts"
import { podUsers } from "../../resources/pod-users.ts"
import { ownerLabel } from "../../sessions/names.ts"
import { literalValue } from "../../variable-text.ts"
import { branchResources, type BranchPodSettings } from "../branch-pod.ts"
import type { Environment } from "../source-environment.ts"
import {
  type MigrationEnvironment,
  migrationEnvironment,
  type MigrationPlace,
  passwordOf
} from "./migration-environment.ts"
import type { MigrationRequest } from "./migration-request.ts"

/** The migrations of branches in this cluster. */
export interface MigrationSettings {
  /** Repository of Flyway's image where the user names none; `undefined` for the official image. */
  readonly repository: string | undefined
  readonly environment: MigrationEnvironment
}

/** The part of a Job that is one run's own. */
export interface MigrationJobOptions extends MigrationPlace {
  readonly namespace: string
  readonly owner: OwnerReference
  /** The branch's `metadata.generation` whose migrations these are. */
  readonly generation: number
  readonly migrations: MigrationRequest
  /** Program that unpacks the user's files and runs Flyway, for `sh -c`. */
  readonly program: string
  /** {@link import("./migration-request.ts").migrationDigest} of the migrations. */
  readonly digest: string
}

/** Label of a run's Job and pod: the UID of the branch. */
export const migrationsLabel = "operator.metalbear.co/branch-migrations"
/** Annotation of a run's Job: the mark of what it runs. */
export const digestAnnotation = "operator.metalbear.co/branch-migrations-digest"
/** Annotation of a run's pod: the name of the branch. */
export const branchAnnotation = "operator.metalbear.co/branch"

/** The longest run of migrations, in seconds. */
export const maxRun = 1_800

/** Name of the Job and of its ConfigMap. */
export const migrationsName = (branchUid: string, generation: number): string =>
  `mirrord-migrations-${branchUid}-${generation}`

/** Whether an object has the name of a run of a branch's migrations. */
export const isMigrationsName = (branchUid: string, name: string): boolean => {
  const generation = Number(name.slice(migrationsName(branchUid, 0).length - 1))
  return Number.isSafeInteger(generation) && migrationsName(branchUid, generation) === name
}

/** The container that runs migrations. */
export const migrationsContainer = "migrations"

/** Repository of the official image of Flyway. */
export const flywayRepository = "docker.io/flyway/flyway"
const flywayVersion = "12"
const flywayUser = 10_001
const archiveFile = "migrations.tar.gz"
const archiveFolder = "/braid/a"
const workFolder = "/braid/w"

const flywayVariables = ({ branch, request: { dialect } }: MigrationPlace): ReadonlyArray<JsonObject> => {
  const url = dialect.migrations?.jdbcUrl({ host: branch.host, port: dialect.port, database: branch.database }) ?? ""
  return [
    { name: "FLYWAY_URL", value: literalValue(url) },
    { name: "FLYWAY_USER", value: literalValue(dialect.user) },
    passwordOf("FLYWAY_PASSWORD", branch),
    // A server that takes connections may still refuse them for a moment: asked again after 1, 2, 4 and 8 s.
    { name: "FLYWAY_CONNECT_RETRIES", value: "4" },
    { name: "REDGATE_DISABLE_TELEMETRY", value: "true" }
  ]
}

/** The part of a run's pod that its flavor decides. */
interface Flavor {
  readonly container: JsonObject
  readonly volumes: ReadonlyArray<JsonObject>
  readonly runsAs: UserSecurity
}

/** The security context of a pod, with the users apart. */
interface UserSecurity {
  readonly security: JsonObject
  readonly users: JsonObject
}

const withArchive = (options: MigrationJobOptions, image: string): Flavor => ({
  container: {
    image,
    command: ["sh", "-c", options.program],
    env: [
      ...flywayVariables(options),
      { name: "ARCHIVE", value: `${archiveFolder}/${archiveFile}` },
      { name: "WORK", value: workFolder },
      { name: "HOME", value: workFolder }
    ],
    volumeMounts: [
      { name: "archive", mountPath: archiveFolder, readOnly: true },
      { name: "work", mountPath: workFolder }
    ]
  },
  volumes: [
    { name: "archive", configMap: { name: migrationsName(options.owner.uid, options.generation) } },
    { name: "work", emptyDir: { sizeLimit: "100Mi" } }
  ],
  runsAs: nobodyWithGroup
})

/** Flyway needs no user of its image. */
const flywayUsers = { runAsUser: flywayUser, runAsGroup: flywayUser }
const nobody: UserSecurity = { security: { runAsNonRoot: true }, users: flywayUsers }
const nobodyWithGroup: UserSecurity = { ...nobody, users: { ...flywayUsers, fsGroup: flywayUser } }

const withLocations = (options: MigrationJobOptions, image: string, locations: ReadonlyArray<string>): Flavor => ({
  container: {
    image,
    args: ["migrate"],
    env: [...flywayVariables(options), { name: "FLYWAY_LOCATIONS", value: literalValue(locations.join(",")) }]
  },
  volumes: [],
  runsAs: nobody
})

const ofUser = (
  { args, command, image }: Extract<MigrationRequest, { readonly _tag: "Container" }>,
  { env, envFrom }: Environment
): Flavor => ({
  container: {
    image,
    ...(command === undefined ? {} : { command }),
    ...(args === undefined ? {} : { args }),
    env,
    envFrom
  },
  volumes: [],
  runsAs: { security: {}, users: {} }
})

const flavorOf = (settings: MigrationSettings, options: MigrationJobOptions): Result.Result<Flavor, string> => {
  const { migrations } = options
  switch (migrations._tag) {
    case "Archive": {
      const { image = `${settings.repository ?? flywayRepository}:${flywayVersion}` } = migrations
      return Result.succeed(withArchive(options, image))
    }
    case "Locations":
      return Result.succeed(withLocations(options, migrations.image, migrations.locations))
    case "Container":
      return Result.map(migrationEnvironment(settings.environment, options, migrations), (environment) =>
        ofUser(migrations, environment)
      )
  }
}

/** Secrets for images: an image of the user's may be the target's. */
const pullSecrets = (pod: BranchPodSettings, { migrations, template }: MigrationJobOptions): ReadonlyArray<object> => {
  const targets = migrations.image === undefined ? [] : asObjects(at(template, "spec", "imagePullSecrets"))
  const names = [...pod.imagePullSecrets, ...targets.flatMap(({ name }) => asString(name) ?? [])]
  return [...new Set(names)].map((name) => ({ name }))
}

const metadataOf = ({ generation, namespace, owner }: MigrationJobOptions) => ({
  name: migrationsName(owner.uid, generation),
  namespace,
  labels: { ...ownerLabel, [migrationsLabel]: owner.uid },
  ownerReferences: [owner]
})

/** The ConfigMap with the user's files; `undefined` if the image has them. */
export const migrationFiles = (options: MigrationJobOptions): object | undefined =>
  options.migrations._tag === "Archive"
    ? {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: metadataOf(options),
        immutable: true,
        binaryData: { [archiveFile]: options.migrations.archive }
      }
    : undefined

/** The Job of a run; the failure is a sentence for the user. */
export const migrationJob = (
  pod: BranchPodSettings,
  settings: MigrationSettings,
  options: MigrationJobOptions
): Result.Result<object, string> =>
  Result.map(flavorOf(settings, options), ({ container, runsAs, volumes }) => {
    const { digest, owner } = options
    const metadata = metadataOf(options)
    const isOwnImage = options.migrations._tag === "Container"
    return {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { ...metadata, annotations: { [digestAnnotation]: digest } },
      spec: {
        // Migrations that failed would fail again. A pod that its node gave up is replaced all the same.
        backoffLimit: 0,
        podFailurePolicy: {
          rules: [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] }]
        },
        activeDeadlineSeconds: maxRun,
        template: {
          metadata: {
            labels: { ...pod.labels, ...metadata.labels },
            annotations: { ...pod.annotations, [branchAnnotation]: owner.name }
          },
          spec: {
            ...pod.placement,
            restartPolicy: "Never",
            automountServiceAccountToken: false,
            enableServiceLinks: false,
            imagePullSecrets: pullSecrets(pod, options),
            securityContext: {
              ...runsAs.security,
              ...podUsers(pod.leavesUsersOut, runsAs.users),
              seccompProfile: { type: "RuntimeDefault" }
            },
            volumes,
            containers: [
              {
                name: migrationsContainer,
                ...container,
                ...(pod.imagePullPolicy === undefined ? {} : { imagePullPolicy: pod.imagePullPolicy }),
                // The last lines of a tool that fails are the reason that the user reads.
                terminationMessagePolicy: "FallbackToLogsOnError",
                resources: branchResources(pod),
                securityContext: {
                  allowPrivilegeEscalation: false,
                  ...(isOwnImage ? {} : { capabilities: { drop: ["ALL"] } })
                }
              }
            ]
          }
        }
      }
    }
  })

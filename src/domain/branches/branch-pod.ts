/**
 * The pod of a branch: an init container that makes the copy with the engine's own tools, and the server. User text is
 * in values of variables alone, and credentials of the source are only named.
 *
 * Not here: the programs of the two containers (src/adapters/engines), and when a pod is made.
 */

import * as Result from "effect/Result"
import { withoutEnd } from "../clean-text.ts"
import type { JsonObject } from "../json.ts"
import type { OwnerReference } from "../resources/object-meta.ts"
import { podUsers } from "../resources/pod-users.ts"
import { ownerLabel } from "../sessions/names.ts"
import { literalValue } from "../variable-text.ts"
import { readsSource, type BranchRequest } from "./branch-request.ts"
import { type BranchPrograms, type HidingPrograms, maxCopySeconds } from "./programs.ts"
import { requestAnnotation } from "./request-digest.ts"
import { sourceEnvironment, type Environment, type SourceTarget } from "./source-environment.ts"
import { secretProblem } from "./source-secrets.ts"

/** The pods of branches in this cluster. */
export interface BranchPodSettings {
  /** Repository of the image where the user names none; `undefined` for the engine's official image. */
  readonly repository?: string | undefined
  readonly imagePullPolicy?: string | undefined
  readonly imagePullSecrets: ReadonlyArray<string>
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Resources of both containers, as Kubernetes has them. */
  readonly resources?: object | undefined
  /** Where the pods run: fields of a pod, as Kubernetes has them. */
  readonly placement?: JsonObject | undefined
  /** Further arguments of the server. */
  readonly serverArguments?: ReadonlyArray<string> | undefined
  /** Sources of the volumes for the data folder and the staged dump; `undefined` for folders of the node. */
  readonly dataVolume?: object | undefined
  readonly stagingVolume?: object | undefined
  /** Most of these folders, as quantities. */
  readonly dataLimit: string
  readonly stagingLimit: string
  /** Whether the cluster gives the pods of a namespace their users, and refuses others. */
  readonly leavesUsersOut?: boolean | undefined
}

/** The part of a pod that is one branch's own. */
export interface BranchPodOptions extends SourceTarget {
  /** Name of the pod, and of the Secret with the branch's password under the key `password`. */
  readonly name: string
  readonly namespace: string
  /** The branch; its name is the value of the label by which programs find the pod. */
  readonly owner: OwnerReference
  readonly request: BranchRequest
  /** Those of the request's engine. */
  readonly programs: BranchPrograms
  /** {@link import("./request-digest.ts").requestDigest} of the request. */
  readonly digest: string
}

const maxLabel = 63
const dataFolder = "/braid/data"
const stagingFolder = "/braid/s"

const variable = (name: string, value: string): JsonObject => ({ name, value: literalValue(value) })

/** A setting in the form of `options`, in which a backslash keeps the character behind it. */
const option = ([name, value]: readonly [string, string]): string =>
  `-c ${name}=${value.replace(/[\s\\]/gu, (sign) => `\\${sign}`)}`

/** The variables that say what is copied. */
const copyVariables = (request: BranchRequest): ReadonlyArray<JsonObject> => {
  const { connectionSettings, databaseName, dialect, dumpArguments, mode, parts } = request
  const settings = Object.entries(connectionSettings)
  return [
    variable("COPY_MODE", mode),
    variable("COPY_SECONDS", String(maxCopySeconds)),
    variable("COPY_ITEMS", String(parts.length)),
    ...parts.flatMap(({ filter, name }, index) => [
      variable(`COPY_ITEM_${index}`, dialect.partName(name)),
      ...(filter === undefined ? [] : [variable(`COPY_FILTER_${index}`, filter)])
    ]),
    variable("DUMP_ARGUMENTS", String(dumpArguments.length)),
    ...dumpArguments.map((argument, index) => variable(`DUMP_ARGUMENT_${index}`, argument)),
    ...(settings.length === 0 ? [] : [variable("SOURCE_OPTIONS", settings.map(option).join(" "))]),
    ...(databaseName === undefined ? [] : [variable("DATABASE_NAME", databaseName)])
  ]
}

/** The image of both containers. */
const branchImage = (settings: BranchPodSettings, { dialect, image }: BranchRequest): string =>
  image._tag === "Named" ? image.image : `${settings.repository ?? dialect.repository}:${image.tag}`

/** Variables and folders of both containers. */
const shared = (name: string): ReadonlyArray<JsonObject> => [
  { name: "DATA", value: `${dataFolder}/db` },
  { name: "STAGING", value: stagingFolder },
  { name: "BRANCH_PASSWORD", valueFrom: { secretKeyRef: { name, key: "password" } } }
]

const defaultResources = { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "1", memory: "2Gi" } }

/** Resources of every container of a branch. */
export const branchResources = ({ resources = defaultResources }: BranchPodSettings): object => resources

/** Pod Security "restricted", which allows this of the capabilities. */
const securityContext: object = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } }

const container = (
  settings: BranchPodSettings,
  request: BranchRequest,
  command: ReadonlyArray<string>
): JsonObject => ({
  image: branchImage(settings, request),
  ...(settings.imagePullPolicy === undefined ? {} : { imagePullPolicy: settings.imagePullPolicy }),
  command,
  // The last lines of a tool that fails are the reason that the user reads.
  terminationMessagePolicy: "FallbackToLogsOnError",
  resources: branchResources(settings),
  securityContext,
  volumeMounts: [
    { name: "data", mountPath: dataFolder },
    { name: "staging", mountPath: stagingFolder }
  ]
})

const volumesOf = ({ dataLimit, dataVolume, stagingLimit, stagingVolume }: BranchPodSettings) => [
  { name: "data", ...(dataVolume ?? { emptyDir: { sizeLimit: dataLimit } }) },
  { name: "staging", ...(stagingVolume ?? { emptyDir: { sizeLimit: stagingLimit } }) }
]

/** Most time for it is what the whole branch has. */
const startupProbe = ({ started }: BranchPrograms): object =>
  started === undefined
    ? {}
    : {
        startupProbe: {
          exec: { command: ["sh", "-c", started] },
          periodSeconds: 1,
          timeoutSeconds: 10,
          failureThreshold: 1800
        }
      }

/** For `sh -c`, whose first argument is a name. */
const serverArguments = ({ serverArguments: given = [] }: BranchPodSettings): JsonObject =>
  given.length === 0 ? {} : { args: ["server", ...given] }

/** The command that runs a program with the source's values hidden in all that it says. */
export const hidingCommand = ({ filter, run }: HidingPrograms, program: string): ReadonlyArray<string> => [
  "sh",
  "-c",
  run,
  "copy",
  program,
  filter
]

const noSource: Environment = { env: [], envFrom: [] }

/** The variables of the source. An empty branch is made without those that the target does not declare. */
const environmentOf = ({ request, ...target }: BranchPodOptions): Result.Result<Environment, string> => {
  const problem = secretProblem(request.connection, target.template)
  if (problem !== undefined) return Result.fail(problem)
  const environment = sourceEnvironment(request.connection, target)
  return Result.isFailure(environment) && !readsSource(request) ? Result.succeed(noSource) : environment
}

/** The pod of a branch; the failure is a sentence for the user, about a source that the target does not have. */
export const branchPod = (settings: BranchPodSettings, options: BranchPodOptions): Result.Result<object, string> =>
  Result.map(environmentOf(options), ({ env, envFrom }) => {
    const { digest, name, namespace, owner, programs, request } = options
    const { port, userId } = request.dialect
    const variables = shared(name)
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name,
        namespace,
        labels: {
          ...settings.labels,
          ...ownerLabel,
          "db-owner-name": withoutEnd(owner.name.slice(0, maxLabel), "-.")
        },
        annotations: { ...settings.annotations, [requestAnnotation]: digest },
        ownerReferences: [owner]
      },
      spec: {
        ...settings.placement,
        // A server that starts again would have lost nothing, but a copy that is made twice is another database.
        restartPolicy: "Never",
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        imagePullSecrets: settings.imagePullSecrets.map((secret) => ({ name: secret })),
        securityContext: {
          runAsNonRoot: true,
          ...podUsers(settings.leavesUsersOut, {
            runAsUser: userId,
            runAsGroup: userId,
            fsGroup: userId
          }),
          seccompProfile: { type: "RuntimeDefault" }
        },
        volumes: volumesOf(settings),
        initContainers: [
          {
            ...container(settings, request, hidingCommand(programs.hide, programs.copy)),
            name: "copy",
            env: [...env, ...copyVariables(request), ...variables],
            envFrom
          }
        ],
        containers: [
          {
            ...container(settings, request, ["sh", "-c", programs.serve]),
            name: "database",
            ...serverArguments(settings),
            env: [{ name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }, ...variables],
            ports: [{ name: "database", containerPort: port }],
            ...startupProbe(programs),
            readinessProbe: { tcpSocket: { port }, periodSeconds: 1, failureThreshold: 3 }
          }
        ]
      }
    }
  })

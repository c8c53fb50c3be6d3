/**
 * The part of `pod.spec` that the kubelet reads, as a schema with types. Other fields are ignored. Defaults and a real
 * server's refusals come before, in `schema/pod-defaults.ts` and `checks/pod-checks.ts`.
 */

import { Schema } from "effect"

const optional = Schema.optional
const StringMap = Schema.Record(Schema.String, Schema.String)
const PortRef = Schema.Union([Schema.Int, Schema.String])

const KeyRef = Schema.Struct({ name: Schema.String, key: Schema.String, optional: optional(Schema.Boolean) })
const FieldRef = Schema.Struct({ fieldPath: Schema.String })

const EnvVar = Schema.Struct({
  name: Schema.String,
  value: optional(Schema.String),
  valueFrom: optional(
    Schema.Struct({
      fieldRef: optional(FieldRef),
      configMapKeyRef: optional(KeyRef),
      secretKeyRef: optional(KeyRef),
      resourceFieldRef: optional(Schema.Unknown)
    })
  )
})

const ObjectRef = Schema.Struct({ name: Schema.String, optional: optional(Schema.Boolean) })
const EnvFrom = Schema.Struct({
  prefix: optional(Schema.String),
  configMapRef: optional(ObjectRef),
  secretRef: optional(ObjectRef)
})

const Probe = Schema.Struct({
  httpGet: optional(
    Schema.Struct({
      port: PortRef,
      path: optional(Schema.String),
      host: optional(Schema.String),
      scheme: optional(Schema.String)
    })
  ),
  tcpSocket: optional(Schema.Struct({ port: PortRef, host: optional(Schema.String) })),
  exec: optional(Schema.Struct({ command: Schema.Array(Schema.String) })),
  grpc: optional(Schema.Unknown),
  initialDelaySeconds: optional(Schema.Number),
  periodSeconds: optional(Schema.Number),
  timeoutSeconds: optional(Schema.Number),
  successThreshold: optional(Schema.Number),
  failureThreshold: optional(Schema.Number)
})
export type ProbeSpec = typeof Probe.Type

const Security = optional(Schema.Struct({ runAsUser: optional(Schema.Int), runAsNonRoot: optional(Schema.Boolean) }))

const Container = Schema.Struct({
  name: Schema.String,
  image: Schema.String,
  securityContext: Security,
  command: optional(Schema.Array(Schema.String)),
  args: optional(Schema.Array(Schema.String)),
  env: optional(Schema.Array(EnvVar)),
  envFrom: optional(Schema.Array(EnvFrom)),
  ports: optional(Schema.Array(Schema.Struct({ name: optional(Schema.String), containerPort: Schema.Int }))),
  volumeMounts: optional(
    Schema.Array(
      Schema.Struct({
        name: Schema.String,
        mountPath: Schema.String,
        subPath: optional(Schema.String)
      })
    )
  ),
  readinessProbe: optional(Probe),
  livenessProbe: optional(Probe),
  startupProbe: optional(Probe),
  restartPolicy: optional(Schema.String),
  terminationMessagePolicy: optional(Schema.String),
  /** Of ephemeral containers alone: the container whose processes they see. */
  targetContainerName: optional(Schema.String)
})
export type ContainerSpec = typeof Container.Type

/** Whether an init container is a sidecar: it runs beside the containers that come after it, and with them. */
export const isSidecar = ({ restartPolicy }: ContainerSpec): boolean => restartPolicy === "Always"

const Items = optional(Schema.Array(Schema.Struct({ key: Schema.String, path: Schema.String })))
const DownwardItems = Schema.Array(Schema.Struct({ path: Schema.String, fieldRef: optional(FieldRef) }))

const ProjectedSource = Schema.Struct({
  configMap: optional(Schema.Struct({ name: Schema.String, items: Items, optional: optional(Schema.Boolean) })),
  secret: optional(Schema.Struct({ name: Schema.String, items: Items, optional: optional(Schema.Boolean) })),
  serviceAccountToken: optional(
    Schema.Struct({
      path: Schema.String,
      audience: optional(Schema.String),
      expirationSeconds: optional(Schema.Number)
    })
  ),
  downwardAPI: optional(Schema.Struct({ items: optional(DownwardItems) }))
})
export type ProjectedSourceSpec = typeof ProjectedSource.Type

const Volume = Schema.Struct({
  name: Schema.String,
  configMap: optional(Schema.Struct({ name: Schema.String, items: Items, optional: optional(Schema.Boolean) })),
  secret: optional(Schema.Struct({ secretName: Schema.String, items: Items, optional: optional(Schema.Boolean) })),
  emptyDir: optional(Schema.Unknown),
  hostPath: optional(Schema.Struct({ path: Schema.String })),
  persistentVolumeClaim: optional(Schema.Struct({ claimName: Schema.String })),
  downwardAPI: optional(Schema.Struct({ items: optional(DownwardItems) })),
  projected: optional(Schema.Struct({ sources: optional(Schema.Array(ProjectedSource)) }))
})
export type VolumeSpec = typeof Volume.Type

/** The part of an affinity that names nodes. */
const NodeTerm = Schema.Struct({
  matchFields: optional(
    Schema.Array(
      Schema.Struct({
        key: Schema.Literal("metadata.name"),
        operator: Schema.Literals(["In", "NotIn"]),
        values: Schema.Array(Schema.String)
      })
    )
  )
})
const Affinity = Schema.Struct({
  nodeAffinity: optional(
    Schema.Struct({
      requiredDuringSchedulingIgnoredDuringExecution: optional(
        Schema.Struct({ nodeSelectorTerms: Schema.Array(NodeTerm) })
      )
    })
  )
})

const PodSpec = Schema.Struct({
  nodeName: optional(Schema.String),
  affinity: optional(Affinity),
  nodeSelector: optional(StringMap),
  hostname: optional(Schema.String),
  securityContext: Security,
  restartPolicy: optional(Schema.Literals(["Always", "OnFailure", "Never"])),
  terminationGracePeriodSeconds: optional(Schema.Number),
  serviceAccountName: optional(Schema.String),
  automountServiceAccountToken: optional(Schema.Boolean),
  initContainers: optional(Schema.Array(Container)),
  containers: Schema.Array(Container),
  ephemeralContainers: optional(Schema.Array(Container)),
  volumes: optional(Schema.Array(Volume))
})
export type PodSpec = typeof PodSpec.Type

const decode = Schema.decodeUnknownResult(PodSpec, { errors: "all" })

/** Whether the pod's affinity allows the node, as far as the affinity names nodes: one of its terms must. */
export const allowsNode = ({ affinity }: PodSpec, node: string): boolean => {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [{}]
  return terms.some(({ matchFields = [] }) =>
    matchFields.every(({ operator, values }) => values.includes(node) === (operator === "In"))
  )
}

/** A failure names each wrong field. */
export const readPodSpec = (spec: unknown) => decode(spec)

/** The image's name without tag and digest, the key of an {@link ImageRegistry}. The port of a registry is no tag. */
export const imageName = (image: string): string => {
  const withoutDigest = image.split("@")[0] ?? image
  const colon = withoutDigest.lastIndexOf(":")
  return colon > withoutDigest.lastIndexOf("/") ? withoutDigest.slice(0, colon) : withoutDigest
}

/** The number of a port that a probe gives by number, or by the name of a container's port. */
export const portNumber = (port: number | string, containers: ReadonlyArray<ContainerSpec>): number | undefined => {
  if (typeof port === "number") return port
  if (/^[0-9]+$/u.test(port)) return Number(port)
  for (const container of containers) {
    const named = container.ports?.find((candidate) => candidate.name === port)
    if (named !== undefined) return named.containerPort
  }
  return undefined
}

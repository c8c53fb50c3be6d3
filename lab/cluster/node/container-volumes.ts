/**
 * The content of a pod's volumes, from ConfigMaps, Secrets, tokens and the downward API, and the writing of files and
 * links under a container's root. Mount points are `pod-files.ts`'s part.
 */

import * as fs from "node:fs/promises"
import * as path from "node:path"
import { Effect, Redacted, Result } from "effect"
import { fieldValue, type PodSources, readEntries } from "./container-env.ts"
import type { ContainerSpec, PodSpec, ProjectedSourceSpec, VolumeSpec } from "./pod-spec.ts"

/** The request for a projected `serviceAccountToken`. */
export interface TokenRequest {
  readonly namespace: string
  readonly serviceAccountName: string
  readonly audience: string | undefined
  readonly expirationSeconds: number
  readonly podName: string
  readonly podUid: string
}
export type IssueToken = (
  request: TokenRequest
) => Effect.Effect<Redacted.Redacted<string>, { readonly message: string }>

export const serviceAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

/**
 * Adds the volume that a real API server's admission adds to a pod: token, `ca.crt` from ConfigMap `kube-root-ca.crt`
 * (if there is one), `namespace`. Here the kubelet adds it, so the pod's spec does not show it.
 */
export const withServiceAccountVolume = (spec: PodSpec): PodSpec => {
  if (spec.automountServiceAccountToken === false) return spec
  const name = "kube-api-access"
  const mount = <C extends ContainerSpec>(container: C): C =>
    container.volumeMounts?.some((existing) => existing.mountPath === serviceAccountPath) === true
      ? container
      : { ...container, volumeMounts: [...(container.volumeMounts ?? []), { name, mountPath: serviceAccountPath }] }
  const sources = [
    { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }], optional: true } },
    { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } }
  ]
  return {
    ...spec,
    containers: spec.containers.map(mount),
    initContainers: (spec.initContainers ?? []).map(mount),
    volumes: [...(spec.volumes ?? []), { name, projected: { sources } }]
  }
}

type Files = Map<string, Buffer>
type Items = ReadonlyArray<{ readonly key: string; readonly path: string }> | undefined

/** The content of a volume; `Folder` volumes keep the files that programs write. */
export type VolumeContent =
  | { readonly _tag: "Files"; readonly files: ReadonlyMap<string, Buffer> }
  | { readonly _tag: "Folder"; readonly shared: string | undefined }

/** A ConfigMap or Secret whose entries become files. */
interface EntriesSource {
  readonly name: string
  readonly items?: Items
  readonly optional?: boolean | undefined
}

const insideVolume = (file: string): boolean => !path.isAbsolute(file) && !file.split("/").includes("..")

const addEntries = (
  files: Files,
  sources: PodSources,
  kind: "ConfigMap" | "Secret",
  { items, name, optional }: EntriesSource
): string | undefined => {
  const entries = readEntries(sources.store, kind, sources.namespace, name)
  if (entries === undefined) return optional === true ? undefined : `${kind.toLowerCase()} "${name}" not found`
  for (const item of items ?? [...entries.keys()].map((key) => ({ key, path: key }))) {
    const value = entries.get(item.key)
    if (value !== undefined) files.set(item.path, value)
    else if (optional !== true) return `${kind.toLowerCase()} "${name}" has no key "${item.key}"`
  }
  return undefined
}

const addSource = (
  files: Files,
  sources: PodSources,
  source: ProjectedSourceSpec,
  issueToken: IssueToken
): Effect.Effect<string | undefined> => {
  if (source.configMap !== undefined) {
    const { configMap } = source
    return Effect.sync(() => addEntries(files, sources, "ConfigMap", configMap))
  }
  if (source.secret !== undefined) {
    const { secret } = source
    return Effect.sync(() => addEntries(files, sources, "Secret", secret))
  }
  if (source.downwardAPI !== undefined) {
    for (const item of source.downwardAPI.items ?? []) {
      const value = item.fieldRef === undefined ? undefined : fieldValue(sources, item.fieldRef.fieldPath)
      if (value === undefined)
        return Effect.succeed(`downwardAPI "${item.path}": only known fieldRef paths are supported`)
      files.set(item.path, Buffer.from(value))
    }
    return Effect.succeed(undefined)
  }
  if (source.serviceAccountToken === undefined)
    return Effect.succeed("a projected source of this type is not supported")
  const { audience, expirationSeconds = 3600, path: file } = source.serviceAccountToken
  return issueToken({
    namespace: sources.namespace,
    serviceAccountName: sources.serviceAccountName,
    audience,
    expirationSeconds,
    podName: sources.pod.metadata.name ?? "",
    podUid: sources.pod.metadata.uid ?? ""
  }).pipe(
    Effect.match({
      onFailure: (error) => `no token for service account "${sources.serviceAccountName}": ${error.message}`,
      onSuccess: (token) => void files.set(file, Buffer.from(Redacted.value(token)))
    }),
    Effect.map((reason) => reason ?? undefined)
  )
}

/** The content of a volume, or the reason that it cannot be mounted. */
export const volumeContent = Effect.fnUntraced(function* (
  sources: PodSources,
  volume: VolumeSpec,
  issueToken: IssueToken,
  nodeDirectory: string
) {
  const files: Files = new Map()
  const done = (reason: string | undefined): Result.Result<VolumeContent, string> => {
    if (reason !== undefined) return Result.fail(`volume "${volume.name}": ${reason}`)
    const outside = [...files.keys()].find((file) => !insideVolume(file))
    return outside === undefined
      ? Result.succeed({ _tag: "Files", files })
      : Result.fail(`volume "${volume.name}": path "${outside}" must be relative and without ".."`)
  }
  if (volume.configMap !== undefined) {
    const { items, name, optional } = volume.configMap
    return done(addEntries(files, sources, "ConfigMap", { name, items, optional }))
  }
  if (volume.secret !== undefined) {
    const { items, optional, secretName } = volume.secret
    return done(addEntries(files, sources, "Secret", { name: secretName, items, optional }))
  }
  if (volume.downwardAPI !== undefined) {
    return done(yield* addSource(files, sources, { downwardAPI: volume.downwardAPI }, issueToken))
  }
  if (volume.projected !== undefined) {
    for (const source of volume.projected.sources ?? []) {
      const reason = yield* addSource(files, sources, source, issueToken)
      if (reason !== undefined) return done(reason)
    }
    return done(undefined)
  }
  const folder = (shared: string | undefined): Result.Result<VolumeContent, string> =>
    Result.succeed({ _tag: "Folder", shared })
  if (volume.emptyDir !== undefined) return folder(undefined)
  // Never a folder of this machine: the stand-in's node has folders of its own, empty at first.
  if (volume.hostPath !== undefined)
    return folder(path.join(nodeDirectory, "host", path.normalize(`/${volume.hostPath.path}`)))
  if (volume.persistentVolumeClaim !== undefined) {
    return folder(path.join(nodeDirectory, "claims", sources.namespace, volume.persistentVolumeClaim.claimName))
  }
  return done(
    "this type is not supported; use configMap, secret, projected, downwardAPI, emptyDir, hostPath or " +
      "persistentVolumeClaim"
  )
})

/** `mountPath` as a real path under the container's root; `..` cannot leave it. */
export const underRoot = (root: string, mountPath: string): string => path.join(root, path.normalize(`/${mountPath}`))

/** Replaces the files of a folder by `files`. New content arrives by rename: a reader never sees half a file. */
export const writeFiles = async (folder: string, files: ReadonlyMap<string, Buffer>): Promise<void> => {
  await fs.mkdir(folder, { recursive: true })
  for (const [name, content] of files) {
    const file = path.join(folder, name)
    const current = await fs.readFile(file).catch(() => undefined)
    if (current?.equals(content) === true) continue
    await fs.mkdir(path.dirname(file), { recursive: true })
    const fresh = path.join(path.dirname(file), `..new-${path.basename(file)}`)
    await fs.writeFile(fresh, content, { mode: 0o600 })
    await fs.rename(fresh, file)
  }
  const kept = new Set([...files.keys()].map((name) => path.normalize(name)))
  for (const entry of await fs.readdir(folder, { recursive: true, withFileTypes: true })) {
    const name = path.relative(folder, path.join(entry.parentPath, entry.name))
    if (entry.isFile() && !kept.has(name)) await fs.rm(path.join(folder, name))
  }
}

/** Mounts a volume that containers may share: `folder` becomes a link to `shared`, unless it is that folder itself. */
export const linkFolder = async (folder: string, shared: string): Promise<void> => {
  await fs.mkdir(shared, { recursive: true })
  if (path.resolve(folder) === path.resolve(shared)) return
  await fs.mkdir(path.dirname(folder), { recursive: true })
  const existing = await fs.readlink(folder).catch(() => undefined)
  if (existing === shared) return
  await fs.rm(folder, { recursive: true, force: true })
  await fs.symlink(shared, folder)
}

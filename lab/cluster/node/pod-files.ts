/**
 * The folders of a pod's containers: creates the roots, mounts the volumes, and knows which ConfigMaps and Secrets they
 * show. The content of a volume comes from `container-volumes.ts`.
 */

import * as fs from "node:fs/promises"
import * as path from "node:path"
import { Effect, Result } from "effect"
import { nameOf } from "../store/store-access.ts"
import type { PodSources } from "./container-env.ts"
import { type IssueToken, linkFolder, underRoot, volumeContent, writeFiles } from "./container-volumes.ts"
import type { ContainerSpec, PodSpec } from "./pod-spec.ts"

export interface PodFilesOptions {
  readonly sources: PodSources
  readonly spec: PodSpec
  /** Holds one folder per container. */
  readonly directory: string
  /** Holds the hostPath and persistentVolumeClaim volumes of this node. */
  readonly nodeDirectory: string
  readonly issueToken: IssueToken
  readonly clusterDomain: string
}

export interface PodFiles {
  readonly root: (container: ContainerSpec) => string
  /** Creates and fills the container's root. The failure is the sentence for `status`. */
  readonly mount: (container: ContainerSpec) => Effect.Effect<Result.Result<void, string>>
  /** Whether a volume takes content from this object. */
  readonly uses: (kind: "ConfigMap" | "Secret", name: string) => boolean
  /** The lifetime of the pod's shortest-lived token, in seconds. */
  readonly tokenSeconds: number | undefined
}

const etcFiles = (options: PodFilesOptions): ReadonlyMap<string, string> => {
  const { podIp, namespace, pod } = options.sources
  const hostname = options.spec.hostname ?? nameOf(pod)
  const domain = options.clusterDomain
  return new Map([
    ["hostname", `${hostname}\n`],
    ["hosts", `127.0.0.1\tlocalhost\n${podIp}\t${hostname}\n`],
    [
      "resolv.conf",
      `search ${namespace}.svc.${domain} svc.${domain} ${domain}\nnameserver 127.0.0.1\noptions ndots:5\n`
    ]
  ])
}

/** Errors of the disk are defects: nothing in the pod explains them. */
export const podFiles = (options: PodFilesOptions): PodFiles => {
  const { sources, spec } = options
  const root = (container: ContainerSpec): string => path.join(options.directory, container.name)
  const volumes = new Map((spec.volumes ?? []).map((volume) => [volume.name, volume]))
  const sourcesOf = (spec.volumes ?? []).flatMap((volume) => [
    { configMap: volume.configMap?.name, secret: volume.secret?.secretName, token: undefined },
    ...(volume.projected?.sources ?? []).map((source) => ({
      configMap: source.configMap?.name,
      secret: source.secret?.name,
      token:
        source.serviceAccountToken === undefined ? undefined : (source.serviceAccountToken.expirationSeconds ?? 3600)
    }))
  ])
  /** Name of an emptyDir → its first mount point, which is its folder. */
  const homes = new Map<string, string>()

  const mountVolumes = Effect.fnUntraced(function* (container: ContainerSpec) {
    for (const mount of container.volumeMounts ?? []) {
      const volume = volumes.get(mount.name)
      if (volume === undefined) return Result.fail(`volumeMounts: the pod has no volume "${mount.name}"`)
      const content = yield* volumeContent(sources, volume, options.issueToken, options.nodeDirectory)
      if (Result.isFailure(content)) return Result.fail(content.failure)
      const folder = underRoot(root(container), mount.mountPath)
      if (content.success._tag === "Folder") {
        const home = content.success.shared ?? homes.get(volume.name) ?? folder
        if (content.success.shared === undefined) homes.set(volume.name, home)
        const subPath = mount.subPath === undefined ? home : underRoot(home, mount.subPath)
        yield* Effect.promise(() => linkFolder(folder, subPath))
        continue
      }
      const { files } = content.success
      if (mount.subPath === undefined) {
        yield* Effect.promise(() => writeFiles(folder, files))
        continue
      }
      const file = files.get(mount.subPath)
      if (file === undefined) return Result.fail(`volume "${volume.name}" has no file "${mount.subPath}" for subPath`)
      yield* Effect.promise(() =>
        fs.mkdir(path.dirname(folder), { recursive: true }).then(() => fs.writeFile(folder, file))
      )
    }
    return Result.succeed(undefined)
  })

  return {
    root,
    mount: Effect.fnUntraced(function* (container: ContainerSpec) {
      yield* Effect.promise(async () => {
        await fs.mkdir(path.join(root(container), "etc"), { recursive: true })
        await fs.mkdir(path.join(root(container), "tmp"), { recursive: true })
        for (const [name, text] of etcFiles(options)) await fs.writeFile(path.join(root(container), "etc", name), text)
      })
      return yield* mountVolumes(container)
    }),
    uses: (kind, name) =>
      sourcesOf.some((source) => (kind === "ConfigMap" ? source.configMap : source.secret) === name),
    tokenSeconds: sourcesOf.reduce<number | undefined>(
      (least, { token }) => (token === undefined ? least : Math.min(least ?? token, token)),
      undefined
    )
  }
}
